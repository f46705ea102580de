//! Counts payments that match a filter, exactly and cheaply however many there are, and finds the periods of
//! time in which they lie.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{Day, Page, Period, Tenant, Timestamp};
use quipu_payments::{COUNTER, PaymentFilter, counter_of_day, day_of_counter};

use super::{
    classes::{self, are_filtered},
    narrow::Range,
    stretch::{NEAR, Stretch},
    unfiltered,
};
use crate::{
    connection::{Connection, either},
    error::Fault,
    rows::stored::natural,
    statement::statement,
};

/// From this offset on, whole days before the page are skipped by their counters.
const DEEP: u64 = 1_000;

/// Whether a page is so near the end of its list that the rows before it are skipped one by one. Its total is
/// then that of all times.
pub(super) fn is_near(filter: &PaymentFilter, page: Page) -> bool {
    let near = if are_filtered(filter) { NEAR } else { DEEP };
    filter.created == Period::default() && page.offset() <= near
}

/// The tenant's payments that match a filter without reference and customer, by periods from the oldest to
/// the newest.
///
/// Every commit updates two kinds of counters, by status, type, method and currency: one of all payments and
/// one for each day. A page near the end of the list needs the first kind only. Counters of days are used for
/// filters by time and for pages far from the end. Only days that a filter cuts through are counted in an
/// index.
pub(super) async fn stretches(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<Vec<Stretch>, Fault> {
    if is_near(filter, page) {
        let counts = by_name(conn, tenant, filter, COUNTER, COUNTER).await?;
        let count = counts.iter().map(|(_, count)| count).sum();
        return Ok(vec![Stretch { from: None, to: None, count }]);
    }
    let mut stretches = Vec::new();
    for (day, count) in of_days(conn, tenant, filter).await? {
        let (first, last) = (day.start(), Timestamp::from_millis(day.next().start().millis() - 1));
        let from = filter.created.from.map_or(first, |from| from.max(first));
        let to = filter.created.to.map_or(last, |to| to.min(last));
        let (from, to, is_whole) = (Some(from), Some(to), (from, to) == (first, last));
        let count = if is_whole { count } else { within(conn, tenant, filter, &Range::of(from, to)).await? };
        stretches.push(Stretch { from, to, count });
    }
    Ok(stretches)
}

/// The number of matching payments in a range, counted in an index.
pub(super) async fn within(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    range: &Range,
) -> Result<u64, Fault> {
    if are_filtered(filter) {
        classes::count(conn, tenant, filter, range).await
    } else {
        unfiltered::count(conn, tenant, range).await
    }
}

/// The days on which matching payments were made, from the oldest to the newest, each as a whole.
async fn of_days(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
) -> Result<Vec<(Day, u64)>, Fault> {
    let name = |at: Option<Timestamp>, without| counter_of_day(at.map_or(without, Day::of));
    let first = name(filter.created.from, Day::of(Timestamp::from_millis(0)));
    let last = name(filter.created.to, Day::LAST);
    let counts = by_name(conn, tenant, filter, &first, &last).await?;
    let days = counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| {
        let day = day_of_counter(&name).ok_or_else(|| Fault::Corrupt(format!("a counter named {name:?}")))?;
        Ok((day, count))
    });
    days.collect()
}

macro_rules! sums {
    ($name:ident on $backend:ty) => {
        statement! { $name on $backend => (Text, Nullable<BigInt>) {
            "SELECT name, CAST(SUM(count) AS BIGINT) FROM counters WHERE merchant_id = "
                => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            " AND name >= " => first: &'a str as Text,
            " AND name <= " => last: &'a str as Text,
            " AND key1 = COALESCE(" => status: Option<&'a str> as Nullable<Text>,
            ", key1) AND key2 = COALESCE(" => kind: Option<&'a str> as Nullable<Text>,
            ", key2) AND key3 = COALESCE(" => method: Option<&'a str> as Nullable<Text>,
            ", key3) AND key4 = COALESCE(" => currency: Option<&'a str> as Nullable<Text> ;
            ", key4) GROUP BY name ORDER BY name"
        } }
    };
}

sums!(SumsInFile on Sqlite);
sums!(SumsOnServer on Pg);

/// The sums of the matching counters, by their names from `first` to `last`.
async fn by_name(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    first: &str,
    last: &str,
) -> Result<Vec<(String, u64)>, Fault> {
    macro_rules! sums {
        ($name:ident) => {
            $name {
                merchant: tenant.merchant().0,
                environment: tenant.environment().as_str(),
                first,
                last,
                status: filter.status.map(|status| status.as_str()),
                kind: filter.kind.map(|kind| kind.as_str()),
                method: filter.method.map(|method| method.as_str()),
                currency: filter.currency.as_ref().map(|currency| currency.as_str()),
            }
        };
    }
    let rows: Vec<(String, Option<i64>)> = either!(conn, load, sums!(SumsInFile), sums!(SumsOnServer))?;
    rows.into_iter().map(|(name, count)| Ok((name, natural(count.unwrap_or(0))?))).collect()
}
