#![doc = include_str!("../README.md")]

mod body;
mod caller;
mod dispatch;
mod envelope;
mod error;
mod health;
mod kept_answer;
mod key_uses;
mod measure;
mod minter;
mod operator;
mod query;
mod request_id;
mod routes;
mod server;
mod settings;
mod state;
mod v1;

pub use key_uses::KeyUses;
pub use minter::KeyringMinter;
pub use routes::{Credentials, RouteRow, route_table};
pub use server::{configure, serve};
pub use settings::{HttpSettings, Limits};
pub use state::{Readiness, Services};
