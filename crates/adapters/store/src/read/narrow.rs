//! Conditions of a query for a filter.

use quipu_kernel::{PaymentId, Timestamp};
use quipu_payments::PaymentFilter;

/// Whether a filter names a reference or a customer. There are few payments of each.
pub(super) const fn names_few(filter: &PaymentFilter) -> bool {
    filter.merchant_reference.is_some() || filter.customer_id.is_some()
}

/// The identifiers of a period, since identifiers begin with their time: the least one, and the least one
/// after all of them.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) from: String,
    pub(super) to: String,
}

impl Range {
    /// A text greater than every identifier.
    const LAST: &str = "~";

    /// The identifiers from one time to another, both included; without a time, to the end of the list.
    pub(super) fn of(from: Option<Timestamp>, to: Option<Timestamp>) -> Self {
        let from = from.map_or_else(String::new, PaymentId::lower_bound);
        Self { from, to: to.map_or_else(|| Self::LAST.to_owned(), after) }
    }

    /// All identifiers greater than this one.
    pub(super) fn behind(id: &PaymentId) -> Self {
        Self { from: format!("{id}{}", Self::LAST), to: Self::LAST.to_owned() }
    }
}

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
            query = query.filter(super::narrow::with_reference!($tenant, reference));
        }
        if let Some(customer) = $filter.customer_id {
            query = query.filter(crate::schema::payments::customer_id.eq(customer.0));
        }
        if let Some(from) = $filter.created_from {
            query = query.filter(crate::schema::payments::id.ge(quipu_kernel::PaymentId::lower_bound(from)));
        }
        if let Some(to) = $filter.created_to {
            query = query.filter(crate::schema::payments::id.lt(super::narrow::after(to)));
        }
        query
    }};
}

pub(crate) use narrowed;

/// Whether a payment has this reference. There is one index for payments that hold their reference and one
/// for the others; an index is used only if the query contains its condition literally.
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
