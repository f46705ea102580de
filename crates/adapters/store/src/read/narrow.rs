//! Conditions of a query for a filter.

use quipu_kernel::{PaymentId, Timestamp};
use quipu_payments::PaymentFilter;

/// A text greater than every identifier.
pub(crate) const BEHIND_ALL: &str = "~";

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
    /// The identifiers from one time to another, both included; without a time, to the end of the list.
    pub(super) fn of(from: Option<Timestamp>, to: Option<Timestamp>) -> Self {
        let from = from.map_or_else(String::new, PaymentId::lower_bound);
        Self { from, to: to.map_or_else(|| BEHIND_ALL.to_owned(), PaymentId::upper_bound) }
    }

    /// All identifiers greater than this one.
    pub(super) fn behind(id: &PaymentId) -> Self {
        Self { from: format!("{id}{BEHIND_ALL}"), to: BEHIND_ALL.to_owned() }
    }
}

/// Narrows a boxed query over `payments` to a tenant and a filter that names a reference or a customer. A
/// reference is looked for among the tenant's, so that condition names the tenant.
macro_rules! narrowed {
    ($query:expr, $tenant:expr, $filter:expr) => {{
        let (tenant, filter) = ($tenant, $filter);
        let mut query = $crate::read::narrow::sifted_by_class!($query, filter);
        if let Some(customer) = filter.customer_id {
            query = query.filter($crate::schema::payments::customer_id.eq(customer.0));
        }
        if let Some(reference) = &filter.merchant_reference {
            query = query.filter($crate::read::narrow::with_reference!(tenant, reference));
            $crate::read::narrow::sifted_by_time!(query, filter)
        } else {
            query = query
                .filter($crate::schema::payments::merchant_id.eq(tenant.merchant().0))
                .filter($crate::schema::payments::environment.eq(tenant.environment().as_str()));
            $crate::read::narrow::ranged!(query, filter)
        }
    }};
}

pub(crate) use narrowed;

/// Narrows a boxed query over `payments` by time, which is a range of the key, because identifiers begin with
/// the time they were made at.
macro_rules! ranged {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if let Some(from) = $filter.created.from {
            query = query.filter($crate::schema::payments::id.ge(quipu_kernel::PaymentId::lower_bound(from)));
        }
        if let Some(to) = $filter.created.to {
            query = query.filter($crate::schema::payments::id.lt(quipu_kernel::PaymentId::upper_bound(to)));
        }
        query
    }};
}

pub(crate) use ranged;

/// The condition that a column of `payments` compares to a text, written so that no index is used for it.
macro_rules! sifted {
    ($query:expr, $column:literal, $is:literal, $value:expr) => {
        $query.filter(
            diesel::dsl::sql::<diesel::sql_types::Bool>(concat!("payments.", $column, " || '' ", $is, " "))
                .bind::<diesel::sql_types::Text, _>($value),
        )
    };
}

pub(crate) use sifted;

/// Narrows a boxed query over `payments` by status, type, method and currency, but uses no index for them.
///
/// SQLite has no statistics. It takes a status and a type for a narrower choice than a customer, and reads all
/// payments that have both.
macro_rules! sifted_by_class {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if let Some(status) = $filter.status {
            query = $crate::read::narrow::sifted!(query, "status", "=", status.as_str());
        }
        if let Some(kind) = $filter.kind {
            query = $crate::read::narrow::sifted!(query, "type", "=", kind.as_str());
        }
        if let Some(method) = $filter.method {
            query = $crate::read::narrow::sifted!(query, "method", "=", method.as_str());
        }
        if let Some(currency) = &$filter.currency {
            query = $crate::read::narrow::sifted!(query, "currency", "=", currency.as_str());
        }
        query
    }};
}

pub(crate) use sifted_by_class;

/// Narrows a boxed query over `payments` by time, but uses no index for it.
macro_rules! sifted_by_time {
    ($query:expr, $filter:expr) => {{
        let mut query = $query;
        if let Some(from) = $filter.created.from {
            query =
                $crate::read::narrow::sifted!(query, "id", ">=", quipu_kernel::PaymentId::lower_bound(from));
        }
        if let Some(to) = $filter.created.to {
            query = $crate::read::narrow::sifted!(query, "id", "<", quipu_kernel::PaymentId::upper_bound(to));
        }
        query
    }};
}

pub(crate) use sifted_by_time;

/// Whether a payment is one of a tenant with this reference. There is one index for payments that hold their
/// reference and one for the others; an index is used only if the query contains its condition literally.
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

#[cfg(test)]
mod tests {
    use diesel::{ExpressionMethods as _, QueryDsl as _, sqlite::Sqlite};
    use quipu_kernel::{Currency, CustomerId, Environment, MerchantId, Period, Tenant};
    use quipu_merchants::Method;
    use quipu_payments::{PaymentType, Status};

    use super::*;
    use crate::{plans::Plans, schema::payments};

    /// Every filter that names a reference or a customer, with and without each other condition.
    fn filters() -> Vec<PaymentFilter> {
        let time = Some(Timestamp::from_millis(1_767_225_600_000));
        let filter = |bits: u8| PaymentFilter {
            merchant_reference: (bits & 1 > 0).then(|| "order".to_owned()),
            customer_id: (bits & 2 > 0).then_some(CustomerId(7)),
            status: (bits & 4 > 0).then_some(Status::Completed),
            kind: (bits & 8 > 0).then_some(PaymentType::Deposit),
            method: (bits & 16 > 0).then_some(Method::Card),
            currency: (bits & 32 > 0).then_some(Currency::MXN),
            created: Period { from: time.filter(|_| bits & 64 > 0), to: time.filter(|_| bits & 128 > 0) },
        };
        (0..=u8::MAX).map(filter).filter(names_few).collect()
    }

    #[test]
    fn references_and_customers_are_found_in_their_indexes_whatever_else_is_asked() {
        let mut plans = Plans::new();
        let tenant = Tenant::new(MerchantId(1), Environment::Live);
        for filter in &filters() {
            let counted = narrowed!(payments::table.count().into_boxed::<Sqlite>(), tenant, filter);
            let listed =
                narrowed!(payments::table.select(payments::id).into_boxed::<Sqlite>(), tenant, filter);
            let listed = listed.order(payments::id.desc()).limit(20).offset(20);
            for plan in [plans.of(&counted), plans.of(&listed)] {
                let expected = if filter.merchant_reference.is_some() {
                    "payments_by_id (id=?"
                } else {
                    "payments_by_customer (merchant_id=? AND environment=? AND customer_id=?"
                };
                assert!(plan[0].contains(expected), "{plan:?}: {filter:?}");
            }
        }
    }
}
