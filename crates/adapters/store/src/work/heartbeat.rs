//! Heartbeats of nodes, and releasing the work of dead ones. Each is its own transaction, so that a lock on
//! somebody's work never delays a heartbeat. Also the readiness probe of the lanes.

use std::time::Duration;

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Nullable, Text},
    sqlite::Sqlite,
};

use futures_util::future::join_all;
use uuid::Uuid;

use quipu_kernel::{StoreError, locked};

use crate::{connection::Connection, error::Fault, statement::statement, store::Store};

/// How long a node may be silent before its work is given to others, in milliseconds. It beats every two seconds.
const SILENCE: i64 = 7_000;

statement! { Beat on Sqlite {
    "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
    ", CAST (unixepoch ('subsec') * 1000 AS INTEGER))
     ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at"
} }

statement! {
    /// How many milliseconds ago the node beat before. The subquery sees the row as it was before the statement.
    BeatOnServer on Pg => Nullable<BigInt> {
        "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
        ", CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT))
         ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at
         RETURNING beat_at - (SELECT before.beat_at FROM nodes AS before WHERE before.node = nodes.node)"
    }
}

statement! { CountOthers on Pg => BigInt {
    "SELECT COUNT(*) FROM nodes WHERE node <> " => node: &'a str as Text,
    " AND beat_at >= CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT) - "
    => silence: &'a i64 as BigInt ; ""
} }

statement! { ReleaseSilent on Sqlite {
    "UPDATE work SET due_at = due_since, lease_node = NULL, turn = turn + 1 WHERE lease_node IN (SELECT node FROM nodes
        WHERE beat_at < CAST (unixepoch ('subsec') * 1000 AS INTEGER) - " => silence: &'a i64 as BigInt, " AND node <> "
    => node: &'a str as Text ; ")"
} }

statement! { ForgetSilent on Sqlite {
    "DELETE FROM nodes WHERE beat_at < CAST (unixepoch ('subsec') * 1000 AS INTEGER) - "
    => silence: &'a i64 as BigInt, " AND node <> " => node: &'a str as Text ; ""
} }

statement! {
    /// The other nodes that are silent, and those of the `forgotten` nodes that have not come back.
    Dead on Pg => Text {
        "SELECT node FROM nodes WHERE beat_at < CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT) - "
        => silence: &'a i64 as BigInt, " AND node <> " => node: &'a str as Text, " UNION SELECT node FROM UNNEST (" => forgotten: &'a [String] as Array<Text> ;
        ") AS forgotten (node) WHERE node NOT IN (SELECT node FROM nodes)"
    }
}

statement! { ReleaseOnServer on Pg {
    "UPDATE work SET due_at = due_since, lease_node = NULL, turn = turn + 1
        WHERE ctid = ANY (ARRAY (SELECT ctid FROM work WHERE lease_node = ANY ("
    => nodes: &'a [String] as Array<Text> ; ") FOR UPDATE SKIP LOCKED))"
} }

statement! { ForgetOnServer on Pg {
    "DELETE FROM nodes WHERE ctid = ANY (ARRAY (SELECT ctid FROM nodes WHERE node = ANY ("
    => nodes: &'a [String] as Array<Text>,
    ") AND beat_at < CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT) - "
    => silence: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! {
    /// The nodes among `nodes` that still hold work.
    StillLeasing on Pg => Text {
        "SELECT node FROM UNNEST (" => nodes: &'a [String] as Array<Text> ;
        ") AS dead (node) WHERE EXISTS (SELECT FROM work WHERE lease_node = dead.node)"
    }
}

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

    /// Writes this node's heartbeat; answers how long ago the one before was, and how many other nodes live. An embedded
    /// file has one node only, which nobody takes for dead.
    pub(crate) async fn say_alive(&self) -> Result<(Option<Duration>, i64), Fault> {
        let node = self.inner.hub.node().to_owned();
        let said = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::execute(Beat { node: &node }, conn)?;
                        Ok((Some(Duration::ZERO), 0))
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        let beat = BeatOnServer { node: &node };
                        let pause: Option<i64> = beat.get_result(&mut ***conn).await?;
                        let count = CountOthers { node: &node, silence: &SILENCE };
                        let pause = pause.map(|pause| Duration::from_millis(pause.try_into().unwrap_or(0)));
                        Ok::<_, Fault>((pause, count.get_result(&mut ***conn).await?))
                    }
                }
            })
        });
        said.await
    }

    /// Releases the work of the other nodes that are silent and forgets these nodes. Answers whether other nodes have anything
    /// to take over: work, or deliveries, which are free once their node is forgotten. Locked rows are
    /// skipped and released later.
    pub(crate) async fn release_silent(&self) -> Result<bool, Fault> {
        let forgotten = locked(&self.inner.forgotten).clone();
        let node = self.inner.hub.node().to_owned();
        let released = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                match conn {
                    Connection::Sqlite(conn) => {
                        let freed = diesel::RunQueryDsl::execute(
                            ReleaseSilent { silence: &SILENCE, node: &node },
                            conn,
                        )?;
                        let forget = ForgetSilent { silence: &SILENCE, node: &node };
                        Ok((freed + diesel::RunQueryDsl::execute(forget, conn)?, Vec::new()))
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        let dead = Dead { silence: &SILENCE, node: &node, forgotten: &forgotten };
                        let dead: Vec<String> = dead.load(&mut ***conn).await?;
                        if dead.is_empty() {
                            return Ok((0, Vec::new()));
                        }
                        let freed = ReleaseOnServer { nodes: &dead }.execute(&mut ***conn).await?;
                        let forget = ForgetOnServer { nodes: &dead, silence: &SILENCE };
                        let freed = freed + forget.execute(&mut ***conn).await?;
                        let left = StillLeasing { nodes: &dead }.load(&mut ***conn).await?;
                        Ok::<_, Fault>((freed, left))
                    }
                }
            })
        });
        let (freed, left) = released.await?;
        *locked(&self.inner.forgotten) = left;
        Ok(freed > 0)
    }
}

/// Writes a row and deletes it again. The row is new, so that no lane waits for another, as they would for
/// the one row of the heartbeat.
async fn note_and_erase(conn: &mut Connection) -> Result<(), Fault> {
    use diesel_async::RunQueryDsl as _;
    let Connection::Postgres(conn) = conn else { return Err(Fault::Abandoned) };
    let node = &Uuid::new_v4().to_string();
    Note { node }.execute(&mut ***conn).await?;
    Erase { node }.execute(&mut ***conn).await?;
    Ok(())
}
