//! Pages of a tenant's payments.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, PaymentId, Tenant, Timestamp};
use quipu_payments::{Payment, PaymentFilter};

use super::{count::count, payment_row::PaymentRow};
use crate::{
    connection::{Connection, load},
    error::Fault,
    schema::payments,
};

/// Narrows a boxed query over `payments` to a tenant and a filter. A range of time is a range of the key, because
/// identifiers begin with the time they were made at.
macro_rules! narrowed {
    ($query:expr, $tenant:expr, $filter:expr) => {{
        let mut query = $query
            .filter(crate::schema::payments::merchant_id.eq($tenant.merchant().0))
            .filter(crate::schema::payments::environment.eq($tenant.environment().as_str()));
        if let Some(status) = $filter.status {
            query = query.filter(crate::schema::payments::status.eq(status.as_str()));
        }
        if let Some(kind) = $filter.kind {
            query = query.filter(crate::schema::payments::kind.eq(kind.as_str()));
        }
        if let Some(method) = $filter.method {
            query = query.filter(crate::schema::payments::method.eq(method.as_str()));
        }
        if let Some(currency) = &$filter.currency {
            query = query.filter(crate::schema::payments::currency.eq(currency.as_str()));
        }
        if let Some(reference) = &$filter.merchant_reference {
            query = query.filter(super::payment_list::with_reference!($tenant, reference));
        }
        if let Some(customer) = $filter.customer_id {
            query = query.filter(crate::schema::payments::customer_id.eq(customer.0));
        }
        if let Some(from) = $filter.created_from {
            query = query.filter(crate::schema::payments::id.ge(quipu_kernel::PaymentId::lower_bound(from)));
        }
        if let Some(to) = $filter.created_to {
            query = query.filter(crate::schema::payments::id.lt(super::payment_list::after(to)));
        }
        query
    }};
}

pub(crate) use narrowed;

/// Whether a payment has this reference. Holders of references and the others have an index each, which is found only if
/// the condition of the index stands in the query word by word.
macro_rules! with_reference {
    ($tenant:expr, $reference:expr) => {{
        use diesel::sql_types::{BigInt, Bool, Text};
        let (merchant, environment) = ($tenant.merchant().0, $tenant.environment().as_str());
        diesel::dsl::sql::<Bool>("payments.id IN (SELECT id FROM payments WHERE merchant_id = ")
            .bind::<BigInt, _>(merchant)
            .sql(" AND environment = ")
            .bind::<Text, _>(environment)
            .sql(" AND merchant_reference = ")
            .bind::<Text, _>($reference)
            .sql(" AND holds_reference UNION ALL SELECT id FROM payments WHERE merchant_id = ")
            .bind::<BigInt, _>(merchant)
            .sql(" AND environment = ")
            .bind::<Text, _>(environment)
            .sql(" AND merchant_reference = ")
            .bind::<Text, _>($reference)
            .sql(" AND NOT holds_reference)")
    }};
}

pub(crate) use with_reference;

/// The least identifier of the millisecond after `at`.
pub(crate) fn after(at: Timestamp) -> String {
    PaymentId::lower_bound(Timestamp::from_millis(at.millis().saturating_add(1)))
}

/// A page, newest first, and the number of all that match; both of one state of the database.
pub(crate) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    conn.begin_snapshot().await?;
    let total = count(conn, tenant, filter).await?;
    let rows = match Slice::of(page, total) {
        Some(slice) => rows(conn, tenant, filter, &slice).await?,
        None => Vec::new(),
    };
    conn.commit().await?;
    let payments = rows.into_iter().map(PaymentRow::into_payment).collect::<Result<_, _>>()?;
    Ok((payments, total))
}

/// A page, counted from whichever end of the list is nearer.
#[derive(Debug, PartialEq, Eq)]
struct Slice {
    oldest_first: bool,
    offset: i64,
    limit: i64,
}

impl Slice {
    fn of(page: Page, total: u64) -> Option<Self> {
        let left = total.checked_sub(page.offset()).filter(|left| *left > 0)?;
        let limit = left.min(page.limit().into());
        let behind = left - limit;
        let oldest_first = behind < page.offset();
        let offset = if oldest_first { behind } else { page.offset() };
        Some(Self { oldest_first, offset: i64::try_from(offset).ok()?, limit: i64::try_from(limit).ok()? })
    }
}

/// The keys are found in an index first and the rows fetched afterwards, so that what is skipped is never read.
async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    slice: &Slice,
) -> Result<Vec<PaymentRow>, Fault> {
    macro_rules! keys {
        () => {{
            let query = narrowed!(payments::table.select(payments::id).into_boxed(), tenant, filter);
            let query = if slice.oldest_first {
                query.order(payments::id.asc())
            } else {
                query.order(payments::id.desc())
            };
            query.limit(slice.limit).offset(slice.offset)
        }};
    }
    let keys: Vec<String> = load!(conn, String, keys!())?;
    let query = payments::table
        .filter(payments::merchant_id.eq(tenant.merchant().0))
        .filter(payments::environment.eq(tenant.environment().as_str()))
        .filter(payments::id.eq_any(&keys))
        .order(payments::id.desc());
    Ok(load!(conn, PaymentRow, query)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_from_the_nearer_end() {
        let slice = |limit, offset, total| {
            let slice = Slice::of(Page::new(limit, offset).expect("a page"), total)?;
            Some((slice.oldest_first, slice.offset, slice.limit))
        };
        assert_eq!(slice(20, 0, 0), None);
        assert_eq!(slice(20, 5, 5), None);
        assert_eq!(slice(20, 0, 5), Some((false, 0, 5)));
        assert_eq!(slice(20, 100, 1000), Some((false, 100, 20)));
        assert_eq!(slice(20, 900, 1000), Some((true, 80, 20)));
        assert_eq!(slice(20, 990, 1000), Some((true, 0, 10)));
    }
}
