//! Deliveries that end without an attempt, because their endpoint is disabled or gone.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{EventId, Tenant, Timestamp};
use quipu_webhooks::{DeliveryStatus, ENDPOINT_DISABLED, Endpoint, EndpointId};

use crate::{
    connection::Connection,
    error::Fault,
    statement::statement,
    tables::{
        counters::{self, CounterLine},
        deliveries::{COUNTER, count_in_file},
    },
};

/// Which endpoint, and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    pub(super) tenant: Tenant,
    pub(super) endpoint: EndpointId,
}

impl Whose {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self { tenant: endpoint.tenant, endpoint: endpoint.id.clone() }
    }
}

// An endpoint is named by its identifier alone, which no other tenant's has: with the tenant's key SQLite would search the index of
// all that an endpoint was ever owed, rather than those of what waits and of what is in hand.

statement! { FailSome on Sqlite {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE rowid IN (SELECT rowid FROM deliveries WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL AND ((event_id < " => before: &'a str as Text,
    " AND NOT (step = 0 AND due_at > " => disabled_at: i64 as BigInt,
    ")) OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) LIMIT 0 + " => limit: &'a i64 as BigInt ; ")"
} }

statement! { FailHeld on Sqlite {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND node IS NOT NULL AND ((event_id < " => before: &'a str as Text,
    " AND NOT (step = 0 AND due_at > " => disabled_at: i64 as BigInt ;
    ")) OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id))"
} }

statement! { FailSomeOnServer on Pg {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL AND ((event_id < " => before: &'a str as Text,
    " AND NOT (step = 0 AND due_at > " => disabled_at: i64 as BigInt,
    ")) OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) LIMIT 0 + " => limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! { FailHeldOnServer on Pg {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND node IS NOT NULL AND ((event_id < " => before: &'a str as Text,
    " AND NOT (step = 0 AND due_at > " => disabled_at: i64 as BigInt ;
    ")) OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) FOR UPDATE SKIP LOCKED))"
} }

/// Lets up to `limit` of what waits for an endpoint fail, and all that is in hand: while it is disabled, whatever it is, since
/// nothing new is owed then; once it is enabled again, what it was owed when it was disabled, if `disabled` says when that was.
/// The identifiers of the events tell what that is. They bear the times of other nodes' clocks, so they are asked only where
/// nothing else tells. A delivery that nobody has attempted in its round is due at the time of its event; one that is due later
/// has begun a new round since, which somebody has asked for. Answers how many there were. On a server it leaves out what
/// somebody has locked: whoever claims that later, or gives it back, finds its endpoint disabled.
pub(super) async fn fail_pending(
    conn: &mut Connection,
    whose: &Whose,
    disabled: Option<Timestamp>,
    limit: i64,
) -> Result<i64, Fault> {
    let (endpoint, error, limit) = (whose.endpoint.as_str(), ENDPOINT_DISABLED, &limit);
    let disabled_at = disabled.map_or(0, Timestamp::millis);
    // Without a time, nothing comes before the identifiers of all events.
    let before =
        disabled.map(|at| EventId::lower_bound(Timestamp::from_millis(at.millis().saturating_add(1))));
    let before = before.as_deref().unwrap_or_default();
    let failed = match conn {
        Connection::Sqlite(conn) => {
            use diesel::RunQueryDsl as _;
            FailHeld { error, endpoint, before, disabled_at }.execute(conn)?
                + FailSome { error, endpoint, before, disabled_at, limit }.execute(conn)?
        }
        Connection::Postgres(conn) => {
            use diesel_async::RunQueryDsl as _;
            let held = FailHeldOnServer { error, endpoint, before, disabled_at };
            let some = FailSomeOnServer { error, endpoint, before, disabled_at, limit };
            held.execute(&mut ***conn).await? + some.execute(&mut ***conn).await?
        }
    };
    let failed = i64::try_from(failed).unwrap_or(i64::MAX);
    count(conn, whose, DeliveryStatus::Failed, failed).await?;
    Ok(failed)
}

/// Changes the counter of an endpoint's deliveries that stand so.
pub(super) async fn count(
    conn: &mut Connection,
    whose: &Whose,
    status: DeliveryStatus,
    by: i64,
) -> Result<(), Fault> {
    count_as(conn, whose, status.as_str(), by).await
}

/// Changes the counter of all deliveries of an endpoint.
pub(super) async fn count_all(conn: &mut Connection, whose: &Whose, by: i64) -> Result<(), Fault> {
    count_as(conn, whose, "all", by).await
}

async fn count_as(conn: &mut Connection, whose: &Whose, word: &'static str, by: i64) -> Result<(), Fault> {
    if by == 0 {
        return Ok(());
    }
    match conn {
        Connection::Sqlite(conn) => count_in_file(conn, whose.tenant, &whose.endpoint, word, by)?,
        Connection::Postgres(conn) => {
            let endpoint = whose.endpoint.as_str().to_owned();
            let keys = [endpoint.into(), word.into(), "".into(), "".into()];
            let line = CounterLine { tenant: whose.tenant, name: COUNTER, keys: &keys, by };
            let count = counters::rows::Many::of(std::iter::once(&line));
            diesel_async::RunQueryDsl::execute(count, &mut ***conn).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use diesel::{
        Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection,
        connection::SimpleConnection as _, debug_query, sql_query,
    };

    use super::*;

    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text)]
        detail: String,
    }

    #[test]
    fn what_was_settled_long_ago_is_not_searched() {
        let mut conn = SqliteConnection::establish(":memory:").expect("opened");
        let tables = include_str!("../../../../../migrations/sqlite/2026-11-21-000003_webhooks/up.sql");
        conn.batch_execute("CREATE TABLE merchants (id INTEGER)").expect("made");
        conn.batch_execute(tables).expect("made");
        let (error, endpoint, before, disabled_at, limit) = ("", "", "", 0, &1);
        let held = debug_query::<Sqlite, _>(&FailHeld { error, endpoint, before, disabled_at }).to_string();
        let some =
            debug_query::<Sqlite, _>(&FailSome { error, endpoint, before, disabled_at, limit }).to_string();
        for (statement, index) in [(held, "deliveries_in_hand"), (some, "deliveries_waiting")] {
            let explain = format!("EXPLAIN QUERY PLAN {statement}");
            let plan: Vec<Line> = sql_query(explain).load(&mut conn).expect("explained");
            let plan: Vec<_> = plan.into_iter().map(|line| line.detail).collect();
            assert!(plan.iter().any(|line| line.contains(index)), "{plan:?}");
            assert!(!plan.iter().any(|line| line.contains("deliveries_key")), "{plan:?}");
        }
    }
}
