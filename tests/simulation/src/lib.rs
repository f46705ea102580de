#![doc = include_str!("../README.md")]
#![expect(clippy::missing_panics_doc, reason = "a harness fails the test by panicking, everywhere")]

mod chance;
mod clock;
mod directory;
mod history;
mod rail;
mod routes;
mod seeds;
mod store;
mod turns;
mod world;

pub use chance::{Dice, Random};
pub use clock::HandClock;
pub use directory::{DirectoryRows, MemoryDirectory};
pub use history::{Ports, run_history};
pub use routes::FixedRoutes;
pub use seeds::Seeds;
pub use store::MemoryStore;
pub use turns::{finish, give_way, race};
pub use world::{Fault, Plan, Summary, run_world, shrunk};
