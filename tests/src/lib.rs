#![doc = include_str!("../README.md")]
#![expect(clippy::missing_panics_doc, reason = "a harness fails the test by panicking, everywhere")]

mod answer;
mod client;
mod command;
mod connection;
mod contract;
mod database;
mod document;
pub mod draft;
mod eventually;
mod gateway;
mod memory;
mod merchant;
mod metrics;
mod port;
pub mod provider;
mod receiver;
mod scratch;
mod setup;
pub mod signature;
mod table;
mod tls;
mod tools;

pub use answer::Answer;
pub use client::{Client, http_client, instant_in};
pub use command::CommandOutput;
pub use connection::is_held;
pub use contract::{DocumentedBody, Maker, assert_documented, faults_of_examples};
pub use database::{Database, TestDatabase, redis_url};
pub use document::{Block, blocks, blocks_of, document};
pub use eventually::{effort, eventually};
pub use gateway::{Gateway, binary};
pub use merchant::Merchant;
pub use port::free_port;
pub use receiver::{Behaviour, Delivery, Receiver};
pub use scratch::ScratchFolder;
pub use setup::Setup;
pub use table::Table;
pub use tls::{Authority, Identity, TlsServer};
pub use tools::python_with_tools;

/// Runs each of the named `async fn(Database)` scenarios once on SQLite and once on PostgreSQL. A scenario
/// left out of the list is dead code, which the lints refuse.
#[macro_export]
macro_rules! on_both_databases {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$name($crate::Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$name($crate::Database::Postgres).await;
            }
        }
    )+};
}
