//! Deliveries that end without an attempt, because their endpoint is disabled or gone.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{EventId, MerchantId, Tenant, Timestamp};
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

    pub(super) fn merchant(&self) -> MerchantId {
        self.tenant.merchant()
    }
}

statement! { FailSome on Sqlite {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE rowid IN (SELECT rowid FROM deliveries WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL AND (event_id < " => before: &'a str as Text,
    " OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) LIMIT 0 + " => limit: &'a i64 as BigInt ; ")"
} }

statement! { FailHeld on Sqlite {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE merchant_id = " => merchant: i64 as BigInt, " AND environment = " => environment: &'a str as Text,
    " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND node IS NOT NULL AND (event_id < " => before: &'a str as Text ;
    " OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id))"
} }

statement! { FailSomeOnServer on Pg {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL AND (event_id < " => before: &'a str as Text,
    " OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) LIMIT 0 + " => limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! { FailHeldOnServer on Pg {
    "UPDATE deliveries SET status = 2, due_at = NULL, node = NULL, error = " => error: &'a str as Text,
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND node IS NOT NULL AND (event_id < " => before: &'a str as Text ;
    " OR NOT (SELECT enabled FROM webhook_endpoints WHERE id = deliveries.endpoint_id)) FOR UPDATE SKIP LOCKED))"
} }

/// Comes before the identifiers of all events.
pub(super) const NO_EVENT: &str = "";

/// Comes behind the identifiers of the events that happened before an endpoint was disabled. Later ones are owed again if it was
/// enabled meanwhile, even while older ones still fail.
pub(super) fn behind_disabling(endpoint: &Endpoint) -> String {
    EventId::lower_bound(Timestamp::from_millis(endpoint.updated_at.millis().saturating_add(1)))
}

/// Lets up to `limit` of what waits for an endpoint fail, and all that is in hand: while it is disabled, whatever it is, since
/// nothing new is owed then; once it is enabled again, as far as the events' identifiers are less than `before`. They bear the
/// times of other nodes' clocks, so they are asked only where nothing else tells. Answers how many there were. On a server it
/// leaves out what somebody has locked: whoever claims that later, or gives it back, finds its endpoint disabled.
pub(super) async fn fail_pending(
    conn: &mut Connection,
    whose: &Whose,
    before: &str,
    limit: i64,
) -> Result<i64, Fault> {
    let (merchant, environment) = (whose.merchant().0, whose.tenant.environment().as_str());
    let (endpoint, error, limit) = (whose.endpoint.as_str(), ENDPOINT_DISABLED, &limit);
    let failed = match conn {
        Connection::Sqlite(conn) => {
            use diesel::RunQueryDsl as _;
            FailHeld { error, merchant, environment, endpoint, before }.execute(conn)?
                + FailSome { error, merchant, environment, endpoint, before, limit }.execute(conn)?
        }
        Connection::Postgres(conn) => {
            use diesel_async::RunQueryDsl as _;
            let held = FailHeldOnServer { error, merchant, environment, endpoint, before };
            let some = FailSomeOnServer { error, merchant, environment, endpoint, before, limit };
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
