//! The time on which nodes agree that share a server, and the clock of each database in SQL.

use diesel::{pg::Pg, sql_types::BigInt};
use diesel_async::RunQueryDsl as _;
use quipu_kernel::{Clock, StoreError, Timestamp};

use crate::{connection::Connection, error::Fault, statement::statement, store::Store};

/// By how many milliseconds the clock of a node may be ahead of the server's without a word in the log.
const FAR_AHEAD: i64 = 2_000;

/// The clock of a server as a literal of SQL, in milliseconds.
macro_rules! now_on_server {
    () => {
        "CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT)"
    };
}

/// The clock of an embedded database as a literal of SQL, in milliseconds.
macro_rules! now_in_file {
    () => {
        "CAST (unixepoch ('subsec') * 1000 AS INTEGER)"
    };
}

pub(crate) use {now_in_file, now_on_server};

statement! { TimeOfServer on Pg => BigInt {
    ; concat!("SELECT ", now_on_server!())
} }

impl Store {
    /// By how many milliseconds this clock is ahead of the server's, less than zero if it is behind; `None` for an embedded
    /// database, which has no clock of its own.
    pub async fn clock_ahead(&self, clock: &std::sync::Arc<dyn Clock>) -> Result<Option<i64>, StoreError> {
        let clock = std::sync::Arc::clone(clock);
        let read = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let Connection::Postgres(conn) = conn else { return Ok(None) };
                let asked = clock.now().millis();
                let of_server: i64 = TimeOfServer {}.get_result(&mut ***conn).await?;
                Ok::<_, Fault>(Some(i64::midpoint(asked, clock.now().millis()) - of_server))
            })
        });
        Ok(read.await?)
    }
}

/// The time of this node, or that of a server if the node's clock is ahead of it. What is done for all nodes goes by it:
/// sealing what no node adds to any more, and deleting what none needs.
pub(crate) async fn common_time(conn: &mut Connection, now: Timestamp) -> Result<Timestamp, Fault> {
    let Connection::Postgres(conn) = conn else { return Ok(now) };
    let of_server: i64 = TimeOfServer {}.get_result(&mut ***conn).await?;
    if now.millis() - of_server > FAR_AHEAD {
        let seconds = (now.millis() - of_server) / 1_000;
        tracing::warn!(
            seconds,
            "the clock of this node is ahead of the database's; keep the clocks together"
        );
    }
    Ok(now.min(Timestamp::from_millis(of_server)))
}
