//! Deliveries that end without an attempt, because their endpoint is disabled or removed.

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

/// An endpoint and its tenant.
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

// Endpoints are matched by their identifiers alone, which are unique over all tenants: with the tenant's key
// SQLite would search the index of all deliveries of an endpoint, instead of the indexes of waiting and of
// claimed ones.

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

/// Fails up to `limit` waiting deliveries of an endpoint, and all claimed ones; returns how many. While the
/// endpoint is disabled these are all its deliveries, since nothing new is owed to it then. Once it is
/// enabled again, they are the deliveries that were owed at the time `disabled`, if that is given. The
/// identifiers of the events show which these are; they contain times of other nodes' clocks, so they are
/// compared only in this case. A delivery without an attempt in its round is due at the time of its event; if
/// it is due after `disabled`, it is in a new round that was requested since, and stays. On a server locked
/// rows are left out: the transaction that claims or releases them later finds the endpoint disabled.
pub(super) async fn fail_pending(
    conn: &mut Connection,
    whose: &Whose,
    disabled: Option<Timestamp>,
    limit: i64,
) -> Result<i64, Fault> {
    let (endpoint, error, limit) = (whose.endpoint.as_str(), ENDPOINT_DISABLED, &limit);
    let disabled_at = disabled.map_or(0, Timestamp::millis);
    // Without a time `before` is empty, and no event's identifier is less.
    let before = disabled.map_or_else(String::new, EventId::upper_bound);
    let before = before.as_str();
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

/// Changes by `by` the counter of an endpoint's deliveries with this status.
pub(super) async fn count(
    conn: &mut Connection,
    whose: &Whose,
    status: DeliveryStatus,
    by: i64,
) -> Result<(), Fault> {
    count_as(conn, whose, status.as_str(), by).await
}

/// Changes by `by` the counter of all deliveries of an endpoint.
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
    use super::*;
    use crate::plans::Plans;

    #[test]
    fn what_ended_long_ago_is_not_searched() {
        let mut plans = Plans::new();
        let (error, endpoint, before, disabled_at, limit) = ("", "", "", 0, &1);
        let held = plans.of(&FailHeld { error, endpoint, before, disabled_at });
        let some = plans.of(&FailSome { error, endpoint, before, disabled_at, limit });
        for (plan, index) in [(held, "deliveries_in_hand"), (some, "deliveries_waiting")] {
            assert!(plan.iter().any(|line| line.contains(index)), "{plan:?}");
            assert!(!plan.iter().any(|line| line.contains("deliveries_key")), "{plan:?}");
        }
    }
}
