//! Drops old finished deliveries and the remains of removed endpoints, in portions.
//!
//! Payments create endpoints by naming addresses, so there may be as many endpoints as payments. They are
//! walked in the order of their identifiers, a stretch in each read; a deletion looks again only at endpoints
//! that a read has found.

use std::time::Duration;

use diesel::{
    BoolExpressionMethods as _, ExpressionMethods as _, IntoSql as _, QueryDsl as _, dsl::exists,
    sql_types::Bool,
};
use quipu_kernel::{EventId, StoreError, Timestamp};
use quipu_webhooks::{DeliveryStatus, Endpoint, EndpointId};

use super::fail_pending::{Whose, count, count_all};
use crate::{
    common_time::common_time,
    connection::{Connection, execute, load},
    error::Fault,
    keys::Keys,
    rows::stored::tenant_of,
    schema::{counters, deliveries, webhook_endpoints as endpoints},
    store::Store,
    tables::deliveries::COUNTER,
};

/// Endpoints in one read.
const STRETCH: i64 = 500;
/// Endpoints in one write: few, so that other writes hardly wait for it.
const IN_A_WRITE: usize = 20;
/// Reads in one call. The next call continues where this one ends.
const STRETCHES: usize = 20;

/// An endpoint: merchant, environment, identifier, and whether it was removed.
type Found = (i64, String, String, bool);

impl Store {
    /// Drops at most `limit` finished deliveries whose events happened longer than `keep_for` ago, and the remains
    /// of endpoints that were removed long enough ago.
    pub(super) async fn prune_deliveries(
        &self,
        now: Timestamp,
        keep_for: Duration,
        limit: i64,
    ) -> Result<i64, StoreError> {
        let asked = self.inner.engine.read(move |conn: &mut Connection| Box::pin(common_time(conn, now)));
        let now = asked.await.map_err(|fault: Fault| StoreError::from(fault))?;
        let (before, removed_before) = (now.minus(keep_for), now.minus(Endpoint::REMAINS_FOR));
        let mut dropped = 0;
        for _ in 0..STRETCHES {
            let (after, bound) = (self.inner.pruned.upto(), EventId::lower_bound(before));
            let look = self.inner.engine.read(move |conn: &mut Connection| {
                Box::pin(async move { find_droppable(conn, &after, &bound, removed_before).await })
            });
            let (found, last) = look.await?;
            for some in found.chunks(IN_A_WRITE) {
                let (some, left) = (some.to_vec(), limit - dropped);
                let drop = self.inner.engine.write(move |conn: &mut Connection| {
                    Box::pin(async move { drop_of(conn, &some, before, left).await })
                });
                dropped += drop.await?;
                if dropped >= limit {
                    return Ok(dropped);
                }
            }
            let is_last = last.is_none();
            self.inner.pruned.move_to(last.unwrap_or_default());
            if is_last {
                break;
            }
        }
        Ok(dropped)
    }
}

/// Reads the stretch of endpoints after `after`. Returns the ones with something to drop, and the last of the
/// stretch, or `None` if no endpoint comes after it.
async fn find_droppable(
    conn: &mut Connection,
    after: &str,
    bound: &str,
    removed_before: Timestamp,
) -> Result<(Vec<Found>, Option<String>), Fault> {
    let stretch = endpoints::table
        .filter(endpoints::id.gt(after))
        .select(endpoints::id)
        .order(endpoints::id)
        .limit(STRETCH);
    let stretch = load!(conn, String, stretch)?;
    let Some(last) = stretch.last() else { return Ok((Vec::new(), None)) };
    let old = deliveries::table
        .filter(deliveries::merchant_id.eq(endpoints::merchant_id))
        .filter(deliveries::environment.eq(endpoints::environment))
        .filter(deliveries::endpoint_id.eq(endpoints::id))
        .filter(deliveries::event_id.lt(bound))
        .filter(deliveries::status.ne(0));
    let forgotten = endpoints::removed_at.lt(removed_before.millis());
    let found = endpoints::table
        .filter(endpoints::id.gt(after))
        .filter(endpoints::id.le(last))
        .filter(forgotten.or(endpoints::removed_at.is_null().and(exists(old))))
        .select((
            endpoints::merchant_id,
            endpoints::environment,
            endpoints::id,
            endpoints::removed_at.is_not_null(),
        ));
    let found = load!(conn, Found, found)?;
    let is_whole = i64::try_from(stretch.len()).is_ok_and(|count| count == STRETCH);
    Ok((found, is_whole.then(|| last.clone())))
}

async fn drop_of(
    conn: &mut Connection,
    found: &[Found],
    before: Timestamp,
    limit: i64,
) -> Result<i64, Fault> {
    let bound = EventId::lower_bound(before);
    let mut dropped = 0_i64;
    let mut uncounted = Vec::new();
    for (merchant, environment, id, removed) in found {
        let left = limit - dropped;
        if left <= 0 {
            break;
        }
        macro_rules! old {
            () => {{
                let query = deliveries::table
                    .filter(deliveries::merchant_id.eq(merchant))
                    .filter(deliveries::environment.eq(environment))
                    .filter(deliveries::endpoint_id.eq(id))
                    .select((deliveries::event_id, deliveries::status))
                    .order(deliveries::event_id.asc())
                    .limit(left)
                    .into_boxed();
                if *removed {
                    query
                } else {
                    query.filter(deliveries::event_id.lt(&bound)).filter(deliveries::status.ne(0))
                }
            }};
        }
        let rows = load!(conn, (String, i32), old!())?;
        if rows.is_empty() {
            if *removed {
                forget(conn, *merchant, environment, id).await?;
            }
            continue;
        }
        let tenant = tenant_of(*merchant, environment)?;
        let keys = Keys::of(tenant, "deliveries").with("endpoint_id", [id.as_str()]);
        let keys = keys.with("event_id", rows.iter().map(|(key, _)| key.as_str()));
        let doomed =
            deliveries::table.filter(keys).filter(deliveries::status.ne(0).or(removed.into_sql::<Bool>()));
        // Another node may have dropped some of them since, and a merchant may have asked to retry some.
        let gone: Vec<i32> = match conn {
            Connection::Sqlite(conn) => {
                diesel::RunQueryDsl::execute(diesel::delete(doomed), conn)?;
                rows.into_iter().map(|(_, status)| status).collect()
            }
            Connection::Postgres(conn) => {
                let drop = diesel::delete(doomed).returning(deliveries::status);
                diesel_async::RunQueryDsl::load(drop, &mut ***conn).await?
            }
        };
        dropped += i64::try_from(gone.len()).unwrap_or(i64::MAX);
        if !removed {
            uncounted.push((Whose { tenant, endpoint: EndpointId::restore(id.clone()) }, gone));
        }
    }
    uncount(conn, uncounted).await?;
    Ok(dropped)
}

/// Drops a removed endpoint that has no deliveries left.
async fn forget(conn: &mut Connection, merchant: i64, environment: &str, id: &str) -> Result<(), Fault> {
    execute!(conn, diesel::delete(endpoints::table.filter(endpoints::id.eq(id))))?;
    // An attempt that was in progress during the removal has counted itself since.
    let counted = counters::table
        .filter(counters::merchant_id.eq(merchant))
        .filter(counters::environment.eq(environment))
        .filter(counters::name.eq(COUNTER))
        .filter(counters::key1.eq(id));
    execute!(conn, diesel::delete(counted))?;
    Ok(())
}

/// Takes the deliveries that were dropped, given by their status, off the counters of their endpoints.
async fn uncount(conn: &mut Connection, mut dropped: Vec<(Whose, Vec<i32>)>) -> Result<(), Fault> {
    let by = |count: usize| -i64::try_from(count).unwrap_or(0);
    // As statements order outcomes, and then as the tallies of a batch are ordered.
    let as_text = |whose: &Whose| (whose.tenant.merchant(), whose.tenant.environment().as_str());
    dropped.sort_by(|(one, _), (other, _)| {
        (as_text(one), one.endpoint.as_str()).cmp(&(as_text(other), other.endpoint.as_str()))
    });
    for (whose, statuses) in &dropped {
        let delivered = statuses.iter().filter(|status| **status == 1).count();
        count(conn, whose, DeliveryStatus::Delivered, by(delivered)).await?;
        count(conn, whose, DeliveryStatus::Failed, by(statuses.len() - delivered)).await?;
    }
    dropped.sort_by(|(one, _), (other, _)| {
        (one.tenant, one.endpoint.as_str()).cmp(&(other.tenant, other.endpoint.as_str()))
    });
    for (whose, statuses) in &dropped {
        count_all(conn, whose, by(statuses.len())).await?;
    }
    Ok(())
}
