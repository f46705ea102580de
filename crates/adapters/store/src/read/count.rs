//! How many payments match a filter, exactly and cheaply however many there are, and in which stretches of time they lie.

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::sql,
    sql_types::{BigInt, Nullable},
};
use quipu_kernel::{Day, Page, Tenant, Timestamp};
use quipu_payments::{COUNTER, PaymentFilter, counter_of_day, day_of_counter};

use super::{
    classes::{self, are_filtered},
    narrow::narrowed,
    slice::natural,
    stretch::{NEAR, Stretch},
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    schema::{counters, payments},
};

/// Further down than this, the days that a page does not touch are skipped by their counters.
pub(super) const DEEP: u64 = 1_000;

/// The tenant's payments that match, by stretches of time from the oldest to the newest.
///
/// Every commit keeps two kinds of counters, by status, type, method and currency: one of all payments and one for each day.
/// A page near the end of the list needs the first kind only; days tell of what is filtered by time and of a page far down.
/// Only the days that a filter cuts through are counted in an index, and so is what is filtered by reference or customer.
pub(super) async fn stretches(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<Vec<Stretch>, Fault> {
    let all = |count| vec![Stretch { from: filter.created_from, to: filter.created_to, count }];
    if filter.merchant_reference.is_some() || filter.customer_id.is_some() {
        return Ok(all(by_index(conn, tenant, filter).await?));
    }
    if filter.created_from.is_none() && filter.created_to.is_none() {
        let matching = of_counters(conn, tenant, filter).await?;
        let near = if are_filtered(filter) { NEAR } else { DEEP };
        if page.offset() <= near || page.offset() >= matching {
            return Ok(all(matching));
        }
    }
    let mut stretches = Vec::new();
    for (day, count) in of_days(conn, tenant, filter).await? {
        let (first, last) = (day.start(), Timestamp::from_millis(day.next().start().millis() - 1));
        let from = filter.created_from.map_or(first, |from| from.max(first));
        let to = filter.created_to.map_or(last, |to| to.min(last));
        let count = if (from, to) == (first, last) {
            count
        } else {
            let within = PaymentFilter { created_from: Some(from), created_to: Some(to), ..filter.clone() };
            by_index(conn, tenant, &within).await?
        };
        stretches.push(Stretch { from: Some(from), to: Some(to), count });
    }
    Ok(stretches)
}

async fn by_index(conn: &mut Connection, tenant: Tenant, filter: &PaymentFilter) -> Result<u64, Fault> {
    if are_filtered(filter) {
        return classes::count(conn, tenant, filter).await;
    }
    let counted = first!(conn, i64, narrowed!(payments::table.count().into_boxed(), tenant, filter));
    natural(counted?.unwrap_or(0))
}

/// How many match, whenever they were made.
async fn of_counters(conn: &mut Connection, tenant: Tenant, filter: &PaymentFilter) -> Result<u64, Fault> {
    let counts = by_name(conn, tenant, filter, COUNTER, COUNTER).await?;
    Ok(counts.iter().map(|(_, count)| count).sum())
}

/// The days on which payments that match were made, from the oldest to the newest, each whole.
async fn of_days(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
) -> Result<Vec<(Day, u64)>, Fault> {
    let name = |at: Option<Timestamp>, without| counter_of_day(at.map_or(without, Day::of));
    let first = name(filter.created_from, Day::of(Timestamp::from_millis(0)));
    let last = name(filter.created_to, Day::LAST);
    let counts = by_name(conn, tenant, filter, &first, &last).await?;
    let days = counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| {
        let day = day_of_counter(&name).ok_or_else(|| Fault::Corrupt(format!("a counter named {name:?}")))?;
        Ok((day, count))
    });
    days.collect()
}

/// The sums of the counters that match, by their names from `first` to `last`.
async fn by_name(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    first: &str,
    last: &str,
) -> Result<Vec<(String, u64)>, Fault> {
    macro_rules! query {
        () => {{
            let mut query = counters::table
                .filter(counters::merchant_id.eq(tenant.merchant().0))
                .filter(counters::environment.eq(tenant.environment().as_str()))
                .filter(counters::name.between(first, last))
                .group_by(counters::name)
                .select((counters::name, sql::<Nullable<BigInt>>("CAST(SUM(count) AS BIGINT)")))
                .order(counters::name)
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
    let rows: Vec<(String, Option<i64>)> = load!(conn, (String, Option<i64>), query!())?;
    rows.into_iter().map(|(name, count)| Ok((name, natural(count.unwrap_or(0))?))).collect()
}
