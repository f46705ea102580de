//! How many payments match a filter, exactly and cheaply however many there are.

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    sql_types::{BigInt, Nullable},
};
use quipu_kernel::Tenant;
use quipu_payments::PaymentFilter;

use super::narrow::narrowed;
use crate::{
    connection::{Connection, first},
    error::Fault,
    schema::{counters, payments},
};

/// The number of the tenant's payments that match. What is filtered by status, type, method and currency only is a
/// sum of the few counters that every commit keeps; the rest is counted in an index.
pub(crate) async fn count(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
) -> Result<u64, Fault> {
    let total = if is_counted(filter) {
        sum_of_counters(conn, tenant, filter).await?
    } else {
        first!(conn, i64, narrowed!(payments::table.count().into_boxed(), tenant, filter))?.unwrap_or(0)
    };
    u64::try_from(total).map_err(|_| Fault::Corrupt("a negative number of payments".to_owned()))
}

fn is_counted(filter: &PaymentFilter) -> bool {
    filter.merchant_reference.is_none()
        && filter.customer_id.is_none()
        && filter.created_from.is_none()
        && filter.created_to.is_none()
}

async fn sum_of_counters(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
) -> Result<i64, Fault> {
    macro_rules! query {
        () => {{
            let mut query = counters::table
                .filter(counters::merchant_id.eq(tenant.merchant().0))
                .filter(counters::environment.eq(tenant.environment().as_str()))
                .filter(counters::name.eq("payments"))
                .select(diesel::dsl::sql::<Nullable<BigInt>>("CAST(SUM(count) AS BIGINT)"))
                .into_boxed();
            if let Some(status) = filter.status {
                query = query.filter(counters::key1.eq(status.as_str()));
            }
            if let Some(kind) = filter.kind {
                query = query.filter(counters::key2.eq(kind.as_str()));
            }
            if let Some(method) = filter.method {
                query = query.filter(counters::key3.eq(method.as_str()));
            }
            if let Some(currency) = &filter.currency {
                query = query.filter(counters::key4.eq(currency.as_str()));
            }
            query
        }};
    }
    Ok(first!(conn, Option<i64>, query!())?.flatten().unwrap_or(0))
}
