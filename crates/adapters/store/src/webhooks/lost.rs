//! Deliveries that this node has claimed and does not have in memory.

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use quipu_kernel::{StoreError, Tenant, Timestamp};
use quipu_webhooks::EndpointId;

use crate::{
    connection::{Connection, load},
    error::Fault,
    rows::stored::tenant_of,
    schema::deliveries,
    statement::statement,
    store::Store,
};

/// The deliveries that a node has had in hand since before some moment. Only deliveries that are `pending` are in hand.
macro_rules! long_in_hand {
    ($node:expr, $before:expr) => {
        deliveries::table
            // As in the index of what is in hand.
            .filter(deliveries::node.is_not_null())
            .filter(deliveries::node.eq($node))
            .filter(deliveries::due_at.lt($before))
    };
}

// Rows that somebody has locked are released by a later call.
statement! { ReleaseOnServer on Pg {
    "UPDATE deliveries SET node = NULL WHERE ctid = ANY (ARRAY (SELECT ctid FROM deliveries WHERE node IS NOT NULL
     AND endpoint_id = ANY (" => endpoints: Vec<&'a str> as Array<Text>, ") AND node = " => node: &'a str as Text,
    " AND due_at < " => before: i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

pub(super) async fn long_in_hand(
    store: &Store,
    before: Timestamp,
    limit: u32,
) -> Result<Vec<(Tenant, EndpointId)>, StoreError> {
    let (node, before) = (store.inner.hub.node().to_owned(), before.millis());
    let found = store.inner.engine.read(move |conn: &mut Connection| {
        Box::pin(async move {
            let query = long_in_hand!(&node, before)
                .select((deliveries::merchant_id, deliveries::environment, deliveries::endpoint_id))
                .distinct()
                .limit(limit.into());
            let rows = load!(conn, (i64, String, String), query)?;
            let endpoints = rows.into_iter().map(|(merchant, environment, id)| {
                Ok((tenant_of(merchant, &environment)?, EndpointId::restore(id)))
            });
            endpoints.collect::<Result<Vec<_>, Fault>>()
        })
    });
    Ok(found.await?)
}

pub(super) async fn release(
    store: &Store,
    endpoints: Vec<EndpointId>,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let (node, before) = (store.inner.hub.node().to_owned(), before.millis());
    let _turn = store.inner.hub.doubtful_claims().turn.lock().await;
    let released = store.inner.engine.write(move |conn: &mut Connection| {
        Box::pin(async move {
            let endpoints: Vec<&str> = endpoints.iter().map(EndpointId::as_str).collect();
            let released = match conn {
                Connection::Sqlite(conn) => {
                    let lost = long_in_hand!(&node, before).filter(deliveries::endpoint_id.eq_any(endpoints));
                    let release = diesel::update(lost).set(deliveries::node.eq(None::<String>));
                    diesel::RunQueryDsl::execute(release, conn)?
                }
                Connection::Postgres(conn) => {
                    let release = ReleaseOnServer { endpoints, node: &node, before };
                    diesel_async::RunQueryDsl::execute(release, &mut ***conn).await?
                }
            };
            Ok::<_, Fault>(released)
        })
    });
    Ok(released.await? as u64)
}
