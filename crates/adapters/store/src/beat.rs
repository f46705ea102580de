//! Nodes that say that they live, and what becomes of the work of those that say so no more.
//!
//! The two are transactions of their own: whatever is in the way of the second, a node that lives is known to live.

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Text},
    sqlite::Sqlite,
};

use crate::{connection::Connection, error::Fault, lock::locked, statement::statement, store::Store};

/// How long a node may be silent before its work is given to others, in milliseconds. It beats every two seconds.
const SILENCE: i64 = 7_000;

statement! { Beat on Sqlite {
    "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
    ", CAST (unixepoch ('subsec') * 1000 AS INTEGER))
     ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at"
} }

statement! { BeatOnServer on Pg {
    "INSERT INTO nodes (node, beat_at) VALUES (" => node: &'a str as Text ;
    ", CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT))
     ON CONFLICT (node) DO UPDATE SET beat_at = excluded.beat_at"
} }

statement! { CountOthers on Pg => BigInt {
    "SELECT COUNT(*) FROM nodes WHERE node <> " => node: &'a str as Text,
    " AND beat_at >= CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT) - "
    => silence: &'a i64 as BigInt ; ""
} }

statement! { ReleaseSilent on Sqlite {
    "UPDATE work SET due_at = due_since, lease_node = NULL, turn = turn + 1 WHERE lease_node IN (SELECT node FROM nodes
        WHERE beat_at < CAST (unixepoch ('subsec') * 1000 AS INTEGER) - " => silence: &'a i64 as BigInt ; ")"
} }

statement! { ForgetSilent on Sqlite {
    "DELETE FROM nodes WHERE beat_at < CAST (unixepoch ('subsec') * 1000 AS INTEGER) - "
    => silence: &'a i64 as BigInt ; ""
} }

statement! {
    /// The nodes that are silent, and those of some forgotten ones that have not come back.
    Dead on Pg => Text {
        "SELECT node FROM nodes WHERE beat_at < CAST (EXTRACT (EPOCH FROM clock_timestamp ()) * 1000 AS BIGINT) - "
        => silence: &'a i64 as BigInt, " UNION SELECT node FROM UNNEST (" => forgotten: &'a [String] as Array<Text> ;
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
    /// Those nodes that still have work.
    StillLeasing on Pg => Text {
        "SELECT node FROM UNNEST (" => nodes: &'a [String] as Array<Text> ;
        ") AS dead (node) WHERE EXISTS (SELECT FROM work WHERE lease_node = dead.node)"
    }
}

impl Store {
    /// Says that this node lives; answers how many others do. A file has one node.
    pub(crate) async fn say_alive(&self) -> Result<i64, Fault> {
        let node = self.inner.hub.node().to_owned();
        let said = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::execute(Beat { node: &node }, conn)?;
                        Ok(0)
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        BeatOnServer { node: &node }.execute(&mut ***conn).await?;
                        let count = CountOthers { node: &node, silence: &SILENCE };
                        Ok::<_, Fault>(count.get_result(&mut ***conn).await?)
                    }
                }
            })
        });
        said.await
    }

    /// Gives back the work of nodes that are silent, and forgets them; answers how much it was. What somebody has locked is
    /// given back later, and nobody waits for it.
    pub(crate) async fn release_silent(&self) -> Result<usize, Fault> {
        let forgotten = locked(&self.inner.forgotten).clone();
        let released = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                match conn {
                    Connection::Sqlite(conn) => {
                        let freed = diesel::RunQueryDsl::execute(ReleaseSilent { silence: &SILENCE }, conn)?;
                        diesel::RunQueryDsl::execute(ForgetSilent { silence: &SILENCE }, conn)?;
                        Ok((freed, Vec::new()))
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        let dead = Dead { silence: &SILENCE, forgotten: &forgotten };
                        let dead: Vec<String> = dead.load(&mut ***conn).await?;
                        if dead.is_empty() {
                            return Ok((0, Vec::new()));
                        }
                        let freed = ReleaseOnServer { nodes: &dead }.execute(&mut ***conn).await?;
                        let forget = ForgetOnServer { nodes: &dead, silence: &SILENCE };
                        forget.execute(&mut ***conn).await?;
                        let left = StillLeasing { nodes: &dead }.load(&mut ***conn).await?;
                        Ok::<_, Fault>((freed, left))
                    }
                }
            })
        });
        let (freed, left) = released.await?;
        *locked(&self.inner.forgotten) = left;
        Ok(freed)
    }
}
