//! The readiness probe of the lanes: a test commit on each.

use diesel::{pg::Pg, sql_types::Text};
use diesel_async::RunQueryDsl as _;
use futures_util::future::join_all;
use quipu_kernel::StoreError;
use uuid::Uuid;

use crate::{connection::Connection, error::Fault, statement::statement, store::Store};

statement! { Note on Pg {
    "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ; ", 0)"
} }

statement! { Erase on Pg {
    "DELETE FROM nodes WHERE node = " => node: &'a str as Text ; ""
} }

impl Store {
    /// Probes whether every lane can commit a write. An overloaded lane counts as working.
    pub(crate) async fn try_lanes(&self) -> Result<(), Fault> {
        let engine = &self.inner.engine;
        let tried = if self.is_embedded() {
            vec![self.say_alive().await.map(drop)]
        } else {
            let tries = engine
                .lanes()
                .iter()
                .map(|lane| engine.write_alone(lane, |conn: &mut Connection| Box::pin(note_and_erase(conn))));
            join_all(tries).await
        };
        let is_in_trouble = |fault: &Fault| !matches!(fault.to_store_error(), StoreError::Overloaded);
        tried.into_iter().filter_map(Result::err).find(is_in_trouble).map_or(Ok(()), Err)
    }
}

/// Writes a row and deletes it again. The row is new, so that no lane waits for another, as they would for
/// the one row of the heartbeat.
async fn note_and_erase(conn: &mut Connection) -> Result<(), Fault> {
    let Connection::Postgres(conn) = conn else { return Err(Fault::Abandoned) };
    let node = &Uuid::new_v4().to_string();
    Note { node }.execute(&mut ***conn).await?;
    Erase { node }.execute(&mut ***conn).await?;
    Ok(())
}
