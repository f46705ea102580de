//! Heartbeats of nodes, and releasing the work of dead ones. Each is its own transaction, so that a lock on
//! somebody's work never delays a heartbeat.

use std::time::{Duration, Instant};

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::locked;

use crate::{
    common_time::{now_in_file, now_on_server},
    connection::Connection,
    error::Fault,
    statement::statement,
    store::Store,
};

/// How long a node may be silent before its work is given to others, in milliseconds. It beats every two seconds. A heartbeat
/// that is as far ahead was made before the clock of the database was set back, and says nothing.
const SILENCE: i64 = 7_000;
/// How long a node that others have forgotten may hold work before that is given to others. One that lives beats meanwhile.
const UNLISTED: Duration = Duration::from_secs(5);

statement! { Beat on Sqlite {
    "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
    concat!(", ", now_in_file!(), ") ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at")
} }

statement! {
    /// How many milliseconds ago the node beat before; negative if the server's clock was set back since. The subquery sees the row as it was before the statement.
    BeatOnServer on Pg => Nullable<BigInt> {
        "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
        concat!(", ", now_on_server!(), ") ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at
         RETURNING beat_at - (SELECT before.beat_at FROM nodes AS before WHERE before.node = nodes.node)")
    }
}

statement! { CountOthers on Pg => BigInt {
    "SELECT COUNT(*) FROM nodes WHERE node <> " => node: &'a str as Text,
    concat!(" AND ABS (beat_at - ", now_on_server!(), ") <= ") => silence: &'a i64 as BigInt ; ""
} }

statement! { ReleaseSilent on Sqlite {
    concat!("UPDATE work SET due_at = due_since, lease_node = NULL, turn = turn + 1
        WHERE lease_node IN (SELECT node FROM nodes WHERE ABS (beat_at - ", now_in_file!(), ") > ")
    => silence: &'a i64 as BigInt, " AND node <> " => node: &'a str as Text ; ")"
} }

statement! { ForgetSilent on Sqlite {
    concat!("DELETE FROM nodes WHERE ABS (beat_at - ", now_in_file!(), ") > ")
    => silence: &'a i64 as BigInt, " AND node <> " => node: &'a str as Text ; ""
} }

statement! {
    /// The other nodes that are silent, and those of the `forgotten` nodes that have not come back.
    Dead on Pg => Text {
        concat!("SELECT node FROM nodes WHERE ABS (beat_at - ", now_on_server!(), ") > ")
        => silence: &'a i64 as BigInt, " AND node <> " => node: &'a str as Text,
        " UNION SELECT node FROM UNNEST (" => forgotten: &'a [String] as Array<Text> ;
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
    concat!(") AND ABS (beat_at - ", now_on_server!(), ") > ") => silence: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! {
    /// The other nodes that hold work and have no heartbeat: they were forgotten while some of their work was locked, or
    /// claimed it after that.
    LeasingUnlisted on Pg => Text {
        "SELECT DISTINCT lease_node FROM work WHERE lease_node IS NOT NULL AND lease_node <> " => node: &'a str as Text ;
        " AND lease_node NOT IN (SELECT node FROM nodes)"
    }
}

impl Store {
    /// Writes this node's heartbeat; answers how far from now the one before was, and how many other nodes live. An embedded
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
                        let pause = pause.map(|pause| Duration::from_millis(pause.unsigned_abs()));
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
        let known = locked(&self.inner.unlisted).clone();
        let is_over = |since: &Option<Instant>| since.is_none_or(|since| since.elapsed() >= UNLISTED);
        let forgotten: Vec<_> =
            known.iter().filter(|(_, since)| is_over(since)).map(|(node, _)| node.clone()).collect();
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
                        let freed = freed + diesel::RunQueryDsl::execute(forget, conn)?;
                        Ok((freed, Vec::<String>::new(), Vec::<String>::new()))
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        let dead = Dead { silence: &SILENCE, node: &node, forgotten: &forgotten };
                        let dead: Vec<String> = dead.load(&mut ***conn).await?;
                        let mut freed = 0;
                        if !dead.is_empty() {
                            freed += ReleaseOnServer { nodes: &dead }.execute(&mut ***conn).await?;
                            let forget = ForgetOnServer { nodes: &dead, silence: &SILENCE };
                            freed += forget.execute(&mut ***conn).await?;
                        }
                        let left = LeasingUnlisted { node: &node }.load(&mut ***conn).await?;
                        Ok::<_, Fault>((freed, dead, left))
                    }
                }
            })
        });
        let (freed, dead, left) = released.await?;
        let since = |node: &String| match known.get(node) {
            _ if dead.contains(node) => None,
            Some(since) => *since,
            None => Some(Instant::now()),
        };
        *locked(&self.inner.unlisted) = left.into_iter().map(|node| (node.clone(), since(&node))).collect();
        Ok(freed > 0)
    }
}
