#![doc = include_str!("../README.md")]

mod backup;
mod batched_reads;
mod cache;
mod call_wait;
mod chain;
mod check;
mod commit;
mod common_time;
mod connection;
mod directory;
mod disabled_endpoints;
mod engine;
mod error;
mod hub;
mod keys;
mod language;
mod merchant_queues;
pub mod metric_names;
mod migrate;
mod page_turns;
#[cfg(test)]
mod plans;
mod postgres;
mod pruned;
mod query;
mod read;
mod rows;
mod schema;
mod settings;
mod single_flight;
mod sqlite;
mod statement;
mod store;
mod tables;
mod ticket_search;
mod transaction;
mod webhooks;
mod work;

pub use backup::{BackupError, back_up, restore};
pub use error::OpenError;
pub use migrate::{has_secrets, is_made};
pub use settings::StoreSettings;
pub use sqlite::log_owner::number_run;
pub use store::Store;
