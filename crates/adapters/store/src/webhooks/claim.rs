//! Claims deliveries for this node, and releases them.

use std::{collections::HashMap, sync::Arc};

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{EventId, Timestamp};
use quipu_webhooks::{Owed, Wanted};

use super::fail_pending::{Whose, fail_pending};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    keys::Keys,
    rows::endpoint::EndpointRow,
    schema::{deliveries, events, webhook_endpoints as endpoints},
    statement::statement,
    tables::deliveries::attempts_of,
};

/// How many deliveries fail or are dropped together with a claim, because their endpoint is disabled or
/// removed.
const ENDED_AT_ONCE: i64 = 2_000;

type DueRow = (String, i64, i32, Option<String>);

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

/// Claims the due deliveries of one endpoint.
pub(super) async fn take(
    conn: &mut Connection,
    wanted: &Wanted,
    now: Timestamp,
    node: &str,
) -> Result<Vec<Owed>, Fault> {
    let found = endpoints::table.filter(endpoints::id.eq(wanted.endpoint.as_str()));
    let row = first!(conn, EndpointRow, found)?;
    let removed = row.as_ref().is_none_or(|row| row.removed_at.is_some());
    let whose = Whose { tenant: wanted.tenant, endpoint: wanted.endpoint.clone() };
    let endpoint = row.map(EndpointRow::into_endpoint).transpose()?;
    let Some(endpoint) = endpoint.filter(|_| !removed) else {
        drop_pending(conn, &whose).await?;
        return Ok(Vec::new());
    };
    if !endpoint.is_enabled() {
        fail_pending(conn, &whose, None, ENDED_AT_ONCE).await?;
        return Ok(Vec::new());
    }
    let due = take_due(conn, wanted, now, node).await?;
    let told = Keys::of(wanted.tenant, "events").with("id", due.iter().map(|row| row.0.as_str()));
    let payloads = events::table.filter(told).select((events::id, events::payload));
    let mut payloads: HashMap<String, String> =
        load!(conn, (String, String), payloads)?.into_iter().collect();
    let endpoint = Arc::new(endpoint);
    let mut taken = Vec::with_capacity(due.len());
    for (id, due_at, step, attempts) in due {
        let payload = payloads.remove(&id).ok_or_else(|| Fault::Corrupt(format!("the event {id}")))?;
        taken.push(Owed {
            endpoint: Arc::clone(&endpoint),
            event_id: EventId::restore(id),
            payload: payload.into(),
            attempts: attempts_of(attempts)?,
            step: u32::try_from(step).unwrap_or(0),
            due_at: Timestamp::from_millis(due_at),
        });
    }
    taken.sort_by_key(|owed| owed.due_at);
    Ok(taken)
}

async fn take_due(
    conn: &mut Connection,
    wanted: &Wanted,
    now: Timestamp,
    node: &str,
) -> Result<Vec<DueRow>, Fault> {
    let (endpoint, limit) = (wanted.endpoint.as_str(), i64::from(wanted.most));
    match conn {
        Connection::Sqlite(conn) => {
            use diesel::RunQueryDsl as _;
            let due = deliveries::table
                .filter(deliveries::endpoint_id.eq(endpoint))
                .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("status = 0 AND node IS NULL"))
                .filter(deliveries::due_at.le(now.millis()))
                .order(deliveries::due_at.asc())
                .limit(limit)
                .select((
                    deliveries::event_id,
                    diesel::NullableExpressionMethods::assume_not_null(deliveries::due_at),
                    deliveries::step,
                    deliveries::attempts,
                ));
            let due: Vec<DueRow> = due.load(conn)?;
            let (merchant, environment) = (wanted.tenant.merchant().0, wanted.tenant.environment().as_str());
            for (event, ..) in &due {
                TakeOne { node, merchant, environment, endpoint, event }.execute(conn)?;
            }
            Ok(due)
        }
        Connection::Postgres(conn) => {
            let take = TakeMany { endpoint, now: now.millis(), limit, node };
            Ok(diesel_async::RunQueryDsl::load(take, &mut ***conn).await?)
        }
    }
}

/// Releases deliveries that `node` has claimed; returns how many they were.
pub(super) async fn give_back(
    conn: &mut Connection,
    deliveries: &[Owed],
    node: &str,
) -> Result<usize, Fault> {
    match conn {
        Connection::Sqlite(conn) => {
            let mut given = 0;
            for owed in deliveries {
                let tenant = owed.tenant();
                let back = GiveBackOne {
                    merchant: tenant.merchant().0,
                    environment: tenant.environment().as_str(),
                    endpoint: owed.endpoint.id.as_str(),
                    event: owed.event_id.as_str(),
                    node,
                };
                given += diesel::RunQueryDsl::execute(back, conn)?;
            }
            Ok(given)
        }
        Connection::Postgres(conn) => {
            let back = GiveBackMany {
                merchants: deliveries.iter().map(|owed| owed.tenant().merchant().0).collect(),
                environments: deliveries.iter().map(|owed| owed.tenant().environment().as_str()).collect(),
                endpoints: deliveries.iter().map(|owed| owed.endpoint.id.as_str()).collect(),
                events: deliveries.iter().map(|owed| owed.event_id.as_str()).collect(),
                node,
            };
            Ok(diesel_async::RunQueryDsl::execute(back, &mut ***conn).await?)
        }
    }
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
