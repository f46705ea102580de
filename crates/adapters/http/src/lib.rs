#![doc = include_str!("../README.md")]

mod body;
mod call;
mod caller;
mod dispatch;
mod door;
mod envelope;
mod error;
mod health;
mod kept_answer;
mod key_uses;
mod measure;
mod minter;
mod operator;
mod query;
mod reply;
mod request_id;
mod routes;
mod server;
mod settings;
mod state;
mod tokens;
mod v1;

pub use door::{Credentials, RouteRow};
pub use key_uses::KeyUses;
pub use minter::KeyringMinter;
pub use routes::route_table;
pub use server::{configure, serve};
pub use settings::{HttpSettings, Limits};
pub use state::{Readiness, Services};
