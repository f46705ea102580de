//! Claims deliveries for this node, and releases them.

use std::{collections::HashMap, sync::Arc};

use diesel::{
    ExpressionMethods as _, OptionalExtension as _, QueryDsl as _, Queryable, SqliteConnection,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use diesel_async::AsyncPgConnection;
use quipu_kernel::{EventId, Tenant, Timestamp};
use quipu_webhooks::{DeliveryKey, Endpoint, Owed, Wanted};

use super::fail_pending::{Whose, fail_pending};
use crate::{
    connection::{Connection, first},
    error::Fault,
    rows::endpoint::EndpointRow,
    schema::{deliveries, webhook_endpoints as endpoints},
    statement::statement,
    tables::deliveries::attempts_of,
};

/// How many deliveries fail or are dropped together with a claim, because their endpoint is disabled or
/// removed.
const ENDED_AT_ONCE: i64 = 2_000;

#[derive(Queryable)]
struct DueRow {
    event: String,
    due_at: i64,
    step: i32,
    attempts: Option<String>,
}

statement! { TakeOne on Sqlite {
    "UPDATE deliveries SET node = " => node: &'a str as Text, " WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND event_id = " => event: &'a str as Text ; ""
} }

statement! { TakeMany on Pg => (Text, BigInt, Integer, Nullable<Text>) {
    "UPDATE deliveries SET node = " => node: &'a str as Text,
    " WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL AND due_at <= " => now: i64 as BigInt,
    " ORDER BY due_at LIMIT 0 + " => limit: i64 as BigInt ;
    " FOR UPDATE SKIP LOCKED)) RETURNING event_id, due_at, step, attempts"
} }

statement! { PayloadInFile on Sqlite => Text {
    "SELECT payload FROM events WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND id = " => event: &'a str as Text ; ""
} }

// The payloads in this order until they have so many bytes. One query for each event, with all columns of its key:
// otherwise a planner that believes that the tenant has hardly any events would read all of them.
statement! { PayloadsOnServer on Pg => (Text, Text) {
    "SELECT id, payload FROM (SELECT wanted.id, told.payload, SUM(octet_length(told.payload))
        OVER (ORDER BY wanted.place ROWS UNBOUNDED PRECEDING) - octet_length(told.payload) AS before
        FROM UNNEST (" => events: Vec<&'a str> as Array<Text>,
    ") WITH ORDINALITY AS wanted (id, place) CROSS JOIN LATERAL (SELECT payload FROM events WHERE merchant_id = "
    => merchant: i64 as BigInt, " AND environment = " => environment: &'a str as Text,
    " AND events.id = wanted.id LIMIT 1) AS told) AS counted WHERE before < " => bytes: i64 as BigInt ; ""
} }

statement! { DropWaiting on Sqlite {
    "DELETE FROM deliveries WHERE rowid IN (SELECT rowid FROM deliveries WHERE endpoint_id = " => endpoint: &'a str as Text,
    " AND status = 0 AND node IS NULL LIMIT 0 + " => limit: &'a i64 as BigInt ; ")"
} }

statement! { DropWaitingOnServer on Pg {
    "DELETE FROM deliveries WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE endpoint_id = "
    => endpoint: &'a str as Text, " AND status = 0 AND node IS NULL LIMIT 0 + " => limit: &'a i64 as BigInt ;
    " FOR UPDATE SKIP LOCKED))"
} }

statement! { GiveBackOne on Sqlite {
    "UPDATE deliveries SET node = NULL WHERE merchant_id = " => merchant: i64 as BigInt,
    " AND environment = " => environment: &'a str as Text, " AND endpoint_id = " => endpoint: &'a str as Text,
    " AND event_id = " => event: &'a str as Text, " AND node = " => node: &'a str as Text ; ""
} }

statement! { GiveBackMany on Pg {
    "UPDATE deliveries AS old SET node = NULL FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => endpoints: Vec<&'a str> as Array<Text>,
    ", " => events: Vec<&'a str> as Array<Text>,
    ") AS back (merchant_id, environment, endpoint_id, event_id) WHERE old.merchant_id = back.merchant_id
        AND old.environment = back.environment AND old.endpoint_id = back.endpoint_id
        AND old.event_id = back.event_id AND old.node IS NOT DISTINCT FROM " => node: &'a str as Text ; ""
} }

/// What one call claims for a node.
pub(super) struct Claim<'a> {
    node: &'a str,
    now: Timestamp,
    pub(super) taken: Vec<Owed>,
    /// The bytes of what is taken, as if no payload were shared.
    bytes: usize,
    /// The payloads of the events, each once, however many endpoints hear of it.
    payloads: HashMap<(Tenant, String), Arc<str>>,
}

impl<'a> Claim<'a> {
    pub(super) fn of(node: &'a str, now: Timestamp) -> Self {
        Self { node, now, taken: Vec::new(), bytes: 0, payloads: HashMap::new() }
    }

    /// Claims the due deliveries of one endpoint, unless the bytes of the claim are used up.
    pub(super) async fn take(&mut self, conn: &mut Connection, wanted: &Wanted) -> Result<(), Fault> {
        let bytes = wanted.bytes.min(Wanted::BYTES_AT_ONCE.saturating_sub(self.bytes));
        if bytes == 0 {
            return Ok(());
        }
        let found = endpoints::table.filter(endpoints::id.eq(wanted.endpoint.as_str()));
        let row = first!(conn, EndpointRow, found)?;
        let removed = row.as_ref().is_none_or(|row| row.removed_at.is_some());
        let whose = Whose { tenant: wanted.tenant, endpoint: wanted.endpoint.clone() };
        let endpoint = row.map(EndpointRow::into_endpoint).transpose()?;
        let Some(endpoint) = endpoint.filter(|_| !removed) else {
            return drop_pending(conn, &whose).await;
        };
        if !endpoint.is_enabled() {
            fail_pending(conn, &whose, None, ENDED_AT_ONCE).await?;
            return Ok(());
        }
        let (endpoint, until) = (Arc::new(endpoint), self.bytes + bytes);
        match conn {
            Connection::Sqlite(conn) => self.take_in_file(conn, wanted, &endpoint, until),
            Connection::Postgres(conn) => self.take_on_server(conn, wanted, &endpoint, until).await,
        }
    }

    /// Takes due deliveries one after the other, until the claim has so many bytes.
    fn take_in_file(
        &mut self,
        conn: &mut SqliteConnection,
        wanted: &Wanted,
        endpoint: &Arc<Endpoint>,
        until: usize,
    ) -> Result<(), Fault> {
        use diesel::RunQueryDsl as _;
        let (node, id, limit) = (self.node, wanted.endpoint.as_str(), i64::from(wanted.most));
        let (merchant, environment) = (wanted.tenant.merchant().0, wanted.tenant.environment().as_str());
        let due = deliveries::table
            .filter(deliveries::endpoint_id.eq(id))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"))
            .filter(deliveries::due_at.le(self.now.millis()))
            .order(deliveries::due_at.asc())
            .limit(limit)
            .select((
                deliveries::event_id,
                diesel::NullableExpressionMethods::assume_not_null(deliveries::due_at),
                deliveries::step,
                deliveries::attempts,
            ));
        let due: Vec<DueRow> = due.load(conn)?;
        for row in due {
            if self.bytes >= until {
                break;
            }
            let event = row.event.as_str();
            let payload = if let Some(known) = self.payload(endpoint.tenant, event) {
                known
            } else {
                let read: Option<String> =
                    PayloadInFile { merchant, environment, event }.get_result(conn).optional()?;
                self.keep_payload(endpoint.tenant, event, read.ok_or_else(|| no_such_event(event))?)
            };
            TakeOne { node, merchant, environment, endpoint: id, event }.execute(conn)?;
            self.push(endpoint, row, payload)?;
        }
        Ok(())
    }

    /// Takes due deliveries in one statement, reads their payloads in another, and gives back those beyond so many
    /// bytes.
    async fn take_on_server(
        &mut self,
        conn: &mut AsyncPgConnection,
        wanted: &Wanted,
        endpoint: &Arc<Endpoint>,
        until: usize,
    ) -> Result<(), Fault> {
        let (node, limit, now) = (self.node, i64::from(wanted.most), self.now.millis());
        let take = TakeMany { endpoint: wanted.endpoint.as_str(), now, limit, node };
        let mut due: Vec<DueRow> = diesel_async::RunQueryDsl::load(take, conn).await?;
        due.sort_by_key(|row| row.due_at);
        let unread: Vec<&str> = due
            .iter()
            .map(|row| row.event.as_str())
            .filter(|event| !self.payloads.contains_key(&(endpoint.tenant, (*event).to_owned())))
            .collect();
        let mut left = until.saturating_sub(self.bytes);
        if !unread.is_empty() {
            let payloads = PayloadsOnServer {
                events: unread,
                merchant: endpoint.tenant.merchant().0,
                environment: endpoint.tenant.environment().as_str(),
                bytes: i64::try_from(left).unwrap_or(i64::MAX),
            };
            let read: Vec<(String, String)> = diesel_async::RunQueryDsl::load(payloads, conn).await?;
            for (event, payload) in read {
                left = left.saturating_sub(payload.len());
                self.keep_payload(endpoint.tenant, &event, payload);
            }
        }
        let mut beyond = Vec::new();
        for row in due {
            match self.payload(endpoint.tenant, &row.event) {
                _ if !beyond.is_empty() || self.bytes >= until => beyond.push(emptied(endpoint, row)),
                Some(payload) => self.push(endpoint, row, payload)?,
                None if left == 0 => beyond.push(emptied(endpoint, row)),
                None => return Err(no_such_event(&row.event)),
            }
        }
        if !beyond.is_empty() {
            let beyond: Vec<_> = beyond.iter().map(Owed::key).collect();
            give_back_on_server(conn, &beyond, node).await?;
        }
        Ok(())
    }

    fn payload(&self, tenant: Tenant, event: &str) -> Option<Arc<str>> {
        self.payloads.get(&(tenant, event.to_owned())).cloned()
    }

    fn keep_payload(&mut self, tenant: Tenant, event: &str, payload: String) -> Arc<str> {
        let payload: Arc<str> = payload.into();
        self.payloads.insert((tenant, event.to_owned()), Arc::clone(&payload));
        payload
    }

    fn push(&mut self, endpoint: &Arc<Endpoint>, mut row: DueRow, payload: Arc<str>) -> Result<(), Fault> {
        let attempts = attempts_of(row.attempts.take())?;
        let owed = Owed { payload, attempts, ..emptied(endpoint, row) };
        self.bytes += owed.bytes();
        self.taken.push(owed);
        Ok(())
    }
}

/// A delivery without payload and attempts.
fn emptied(endpoint: &Arc<Endpoint>, row: DueRow) -> Owed {
    Owed {
        endpoint: Arc::clone(endpoint),
        event_id: EventId::restore(row.event),
        payload: Arc::default(),
        attempts: Vec::new(),
        step: u32::try_from(row.step).unwrap_or(0),
        due_at: Timestamp::from_millis(row.due_at),
    }
}

/// The fault of a delivery whose event is missing.
pub(super) fn no_such_event(event: &str) -> Fault {
    Fault::Corrupt(format!("there is a delivery of {event}, but not the event"))
}

/// Releases deliveries that `node` has claimed; returns how many they were.
pub(super) async fn give_back(
    conn: &mut Connection,
    deliveries: &[DeliveryKey],
    node: &str,
) -> Result<usize, Fault> {
    match conn {
        Connection::Sqlite(conn) => {
            let mut given = 0;
            for key in deliveries {
                let back = GiveBackOne {
                    merchant: key.tenant.merchant().0,
                    environment: key.tenant.environment().as_str(),
                    endpoint: key.endpoint.as_str(),
                    event: key.event.as_str(),
                    node,
                };
                given += diesel::RunQueryDsl::execute(back, conn)?;
            }
            Ok(given)
        }
        Connection::Postgres(conn) => give_back_on_server(conn, deliveries, node).await,
    }
}

async fn give_back_on_server(
    conn: &mut AsyncPgConnection,
    deliveries: &[DeliveryKey],
    node: &str,
) -> Result<usize, Fault> {
    let back = GiveBackMany {
        merchants: deliveries.iter().map(|key| key.tenant.merchant().0).collect(),
        environments: deliveries.iter().map(|key| key.tenant.environment().as_str()).collect(),
        endpoints: deliveries.iter().map(|key| key.endpoint.as_str()).collect(),
        events: deliveries.iter().map(|key| key.event.as_str()).collect(),
        node,
    };
    Ok(diesel_async::RunQueryDsl::execute(back, conn).await?)
}

/// Drops some waiting deliveries of a removed endpoint; the next claims and the deletion of old deliveries drop the rest.
async fn drop_pending(conn: &mut Connection, whose: &Whose) -> Result<(), Fault> {
    let (endpoint, limit) = (whose.endpoint.as_str(), &ENDED_AT_ONCE);
    match conn {
        Connection::Sqlite(conn) => diesel::RunQueryDsl::execute(DropWaiting { endpoint, limit }, conn)?,
        Connection::Postgres(conn) => {
            diesel_async::RunQueryDsl::execute(DropWaitingOnServer { endpoint, limit }, &mut ***conn).await?
        }
    };
    Ok(())
}
