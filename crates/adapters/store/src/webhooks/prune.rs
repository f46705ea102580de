//! Pruning: what was finished long ago, and what is left of removed endpoints, goes in portions.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{EventId, MerchantId, Tenant, Timestamp};
use quipu_webhooks::{DeliveryStatus, EndpointId};

use super::settle::{Whose, count, count_all};
use crate::{
    connection::{Connection, execute, load},
    error::Fault,
    keys::Keys,
    schema::{counters, deliveries, webhook_endpoints as endpoints},
    stored::parsed,
    tables::deliveries::COUNTER,
};

/// Drops what was finished and happened before `before`, endpoint by endpoint, and what is left of removed endpoints.
pub(super) async fn prune(conn: &mut Connection, before: Timestamp, limit: i64) -> Result<u64, Fault> {
    let bound = EventId::lower_bound(before);
    let all = endpoints::table.select((
        endpoints::merchant_id,
        endpoints::environment,
        endpoints::id,
        endpoints::removed_at.is_not_null(),
    ));
    let mut dropped = 0_i64;
    for (merchant, environment, id, removed) in load!(conn, (i64, String, String, bool), all)? {
        let left = limit - dropped;
        if left <= 0 {
            break;
        }
        macro_rules! old {
            () => {{
                let query = deliveries::table
                    .filter(deliveries::merchant_id.eq(merchant))
                    .filter(deliveries::environment.eq(&environment))
                    .filter(deliveries::endpoint_id.eq(&id))
                    .select((deliveries::event_id, deliveries::status))
                    .order(deliveries::event_id.asc())
                    .limit(left)
                    .into_boxed();
                if removed {
                    query
                } else {
                    query.filter(deliveries::event_id.lt(&bound)).filter(deliveries::status.ne(0))
                }
            }};
        }
        let found = load!(conn, (String, i32), old!())?;
        if found.is_empty() {
            if removed {
                let row = endpoints::table.filter(endpoints::id.eq(&id));
                execute!(conn, diesel::delete(row))?;
                // An attempt that was under way when it was removed has counted itself since.
                let counted = counters::table
                    .filter(counters::merchant_id.eq(merchant))
                    .filter(counters::environment.eq(&environment))
                    .filter(counters::name.eq(COUNTER))
                    .filter(counters::key1.eq(&id));
                execute!(conn, diesel::delete(counted))?;
            }
            continue;
        }
        let tenant = Tenant::new(MerchantId(merchant), parsed("an environment", &environment)?);
        let keys = Keys::of(tenant, "deliveries").with("endpoint_id", [id.as_str()]);
        let rows = deliveries::table.filter(keys.with("event_id", found.iter().map(|(key, _)| key.as_str())));
        execute!(conn, diesel::delete(rows))?;
        dropped += i64::try_from(found.len()).unwrap_or(i64::MAX);
        if !removed {
            uncount(conn, &Whose { tenant, endpoint: EndpointId::restore(id) }, &found).await?;
        }
    }
    Ok(u64::try_from(dropped).unwrap_or(0))
}

async fn uncount(conn: &mut Connection, whose: &Whose, dropped: &[(String, i32)]) -> Result<(), Fault> {
    let delivered = dropped.iter().filter(|(_, status)| *status == 1).count();
    let by = |count: usize| -i64::try_from(count).unwrap_or(0);
    count_all(conn, whose, by(dropped.len())).await?;
    count(conn, whose, DeliveryStatus::Delivered, by(delivered)).await?;
    count(conn, whose, DeliveryStatus::Failed, by(dropped.len() - delivered)).await
}
