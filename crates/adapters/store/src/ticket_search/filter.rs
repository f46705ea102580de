//! Conditions of a query for a filter of tickets, and the number of tickets that the counters give.

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    sql_types::{BigInt, Nullable},
};
use quipu_kernel::{Page, Tenant};
use quipu_tickets::{Category, Status, TicketFilter, TicketSort};

use crate::{
    connection::{Connection, first},
    error::Fault,
    rows::stored::natural,
    schema::counters,
};

/// A page of the tickets of a tenant that match a filter.
#[derive(Clone, Copy)]
pub(crate) struct TicketQuery<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) filter: &'a TicketFilter,
    pub(crate) sort: TicketSort,
    pub(crate) page: Page,
}

/// The tickets of a tenant.
macro_rules! of_tenant {
    ($query:expr, $tenant:expr) => {
        $query
            .filter(tickets::merchant_id.eq($tenant.merchant().0))
            .filter(tickets::environment.eq($tenant.environment().as_str()))
    };
}

/// Narrows a boxed query over `tickets` to the conditions that filters of merchants and of the queue have in
/// common.
macro_rules! narrowed {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if !$filter.statuses.is_empty() {
            query = query.filter(tickets::status.eq_any($filter.statuses.iter().map(|it| it.as_str())));
        }
        if !$filter.categories.is_empty() {
            query = query.filter(tickets::category.eq_any($filter.categories.iter().map(|it| it.as_str())));
        }
        if let Some(payment) = &$filter.payment_id {
            query = query.filter(tickets::payment_id.eq(payment.as_str()));
        }
        if let Some(from) = $filter.created.from {
            query = query.filter(tickets::created_at.ge(from.millis()));
        }
        if let Some(to) = $filter.created.to {
            query = query.filter(tickets::created_at.le(to.millis()));
        }
        query
    }};
}

/// Narrows a boxed query over `tickets` to a filter and to the result of a search.
macro_rules! narrowed_to_found {
    ($query:expr, $filter:expr, $found:expr) => {{
        let query = $crate::ticket_search::filter::narrowed!($query, $filter);
        match &$found {
            Some(found) => query
                .filter(diesel::dsl::sql::<Bool>(found.before).bind::<Text, _>(&found.text).sql(found.after)),
            None => query,
        }
    }};
}

pub(crate) use {narrowed, narrowed_to_found, of_tenant};

/// The number of tickets with these statuses and categories; an empty list means all.
pub(crate) async fn sum_of_counters(
    conn: &mut Connection,
    tenant: Tenant,
    statuses: &[Status],
    categories: &[Category],
) -> Result<u64, Fault> {
    macro_rules! query {
        () => {{
            let mut query = counters::table
                .filter(counters::merchant_id.eq(tenant.merchant().0))
                .filter(counters::environment.eq(tenant.environment().as_str()))
                .filter(counters::name.eq("tickets"))
                .select(diesel::dsl::sql::<Nullable<BigInt>>("CAST(SUM(count) AS BIGINT)"))
                .into_boxed();
            if !statuses.is_empty() {
                query = query.filter(counters::key1.eq_any(statuses.iter().map(|it| it.as_str())));
            }
            if !categories.is_empty() {
                query = query.filter(counters::key2.eq_any(categories.iter().map(|it| it.as_str())));
            }
            query
        }};
    }
    natural(first!(conn, Option<i64>, query!())?.flatten().unwrap_or(0))
}
