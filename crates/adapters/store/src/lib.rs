#![doc = include_str!("../README.md")]

mod audit_row;
mod backup;
mod cache;
mod check;
mod checkpoint;
mod commit;
mod connection;
mod directory;
mod document;
mod embedded;
mod engine;
mod error;
mod file;
mod hub;
mod lease;
mod migrate;
mod payment_row;
mod points;
mod pool;
mod read;
mod schema;
mod server;
mod session;
mod settings;
mod statement;
mod store;
mod stored;
mod tables;
mod tls;
mod transaction;
mod webhooks;
mod work;

pub use backup::{BackupError, back_up, restore};
pub use error::OpenError;
pub use settings::StoreSettings;
pub use store::Store;
