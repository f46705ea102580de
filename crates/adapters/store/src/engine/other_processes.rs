//! Commits of other processes on an embedded file: of commands in a shell while a server runs.
//!
//! A file notifies nobody of a commit. But each of its connections can ask whether another connection has
//! committed, and all commits of this process go over one connection, so a change seen by that connection was
//! made by another process.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use diesel::{RunQueryDsl as _, sql_types::BigInt, sqlite::Sqlite};

use crate::{connection::Connection, engine::Engine, error::Fault, hub::Hub, statement::statement};

/// The time between two looks.
const LOOK: Duration = Duration::from_secs(1);

statement! { DataVersion on Sqlite => BigInt { ; "PRAGMA data_version" } }

/// Tells all listeners that they missed something whenever another process has committed. While nobody
/// listens, it does not look.
pub(crate) async fn hear(engine: Weak<Engine>, hub: Arc<Hub>) {
    let mut seen = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(engine) = engine.upgrade() else { return };
        if !hub.has_listeners() {
            continue;
        }
        let found = engine.write(|conn: &mut Connection| Box::pin(async move { version_of(conn) }));
        match found.await {
            Ok(version) if seen.replace(version) != Some(version) => hub.listeners_look_again(),
            Ok(_) => {}
            Err(fault) => tracing::debug!(%fault, "other processes are not heard"),
        }
    }
}

/// The number that changes with every commit of another connection.
fn version_of(conn: &mut Connection) -> Result<i64, Fault> {
    match conn {
        Connection::Sqlite(conn) => Ok(DataVersion.get_result(conn)?),
        Connection::Postgres(_) => {
            Err(Fault::Mistaken("a server is asked for the version of a file".to_owned()))
        }
    }
}
