//! Finds payments by status, type, method or currency, in the index over these four.
//!
//! Payments that share all four are a class. Counters name the classes of a tenant's payments, and each class
//! is a range of the index, in the order of time. A page is taken from the ends of the ranges that match, so
//! that payments of other classes are never read, however many there are. In a file the index is one of
//! payments, on a server that of [rows of their own](crate::tables::payment_classes).

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::Tenant;
use quipu_payments::PaymentFilter;

use super::{narrow::Range, slice::Slice};
use crate::{
    connection::{Connection, either},
    error::Fault,
    rows::{
        payment::{PaymentRow, payment_columns},
        stored::{bigint, natural},
    },
    schema::payments,
    statement::statement,
};

/// The condition that a row is of a class.
macro_rules! in_class {
    ("payments") => {
        "status = classes.key1 AND type = classes.key2 AND method = classes.key3 AND currency = classes.key4"
    };
    ("payment_classes") => {
        "class = classes.key1 || '/' || classes.key2 || '/' || classes.key3 || '/' || classes.key4"
    };
}

/// A statement over the matching classes and the payments of each, in a range of identifiers.
macro_rules! over_classes {
    ($name:ident on $backend:ty, in $table:tt => $rows:ty {
        $select:expr $(, $before:expr => $field:ident: $rust:ty as $sql:ty)* ; $after:expr
    }) => {
        statement! { $name on $backend => $rows {
            "WITH classes AS MATERIALIZED (SELECT key1, key2, key3, key4, count FROM counters WHERE name = 'payments' \
                AND merchant_id = " => counted_merchant: i64 as BigInt,
            " AND environment = " => counted_environment: &'a str as Text,
            " AND key1 = COALESCE(" => status: Option<&'a str> as Nullable<Text>,
            ", key1) AND key2 = COALESCE(" => kind: Option<&'a str> as Nullable<Text>,
            ", key2) AND key3 = COALESCE(" => method: Option<&'a str> as Nullable<Text>,
            ", key3) AND key4 = COALESCE(" => currency: Option<&'a str> as Nullable<Text>,
            concat!(", key4) AND count > 0) ", $select, " FROM ", $table, " WHERE merchant_id = ") => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            concat!(" AND ", in_class!($table), " AND id >= ") => from: &'a str as Text,
            " AND id < " => to: &'a str as Text
            $(, $before => $field: $rust as $sql)* ; $after
        } }
    };
}

/// The rows of a page, each with the number of all in the matching classes. The condition that finds a row by
/// its key, and the additions of zero and of an empty text, leave a planner with old statistics no other way.
macro_rules! page {
    ($name:ident on $backend:ty, in $table:tt, $order:literal, $id:literal, $each:literal, $end:literal, $wanted:literal) => {
        over_classes! { $name on $backend, in $table => (Nullable<BigInt>, payments::SqlType) {
            concat!(
                "SELECT (SELECT CAST(SUM(count) AS BIGINT) FROM classes), ",
                payment_columns!(),
                " FROM (SELECT ", $id, " AS wanted FROM classes, ", $each, "SELECT id"
            ),
            concat!(" ORDER BY id ", $order, " LIMIT 0 + ") => reach: i64 as BigInt,
            concat!($end, " AS found ORDER BY wanted ", $order, " LIMIT 0 + ") => limit: i64 as BigInt,
            " OFFSET " => offset: i64 as BigInt,
            concat!(") AS page JOIN payments ON payments.id ", $wanted, " AND payments.merchant_id + 0 = ")
                => row_merchant: i64 as BigInt,
            " AND payments.environment || '' = " => row_environment: &'a str as Text ;
            concat!(" ORDER BY page.wanted ", $order)
        } }
    };
}

/// A page from either end.
macro_rules! pages {
    ($newest:ident, $oldest:ident on $backend:ty, in $table:tt, $id:literal, $each:literal, $end:literal, $wanted:literal) => {
        page!($newest on $backend, in $table, "DESC", $id, $each, $end, $wanted);
        page!($oldest on $backend, in $table, "ASC", $id, $each, $end, $wanted);
    };
}

// A list in JSON is how SQLite looks up rows for each row of another table and takes only some.
pages!(
    NewestInFile, OldestInFile on Sqlite, in "payments",
    "found.value", "json_each((SELECT json_group_array(id) FROM (", ")))", "= page.wanted"
);
pages!(
    NewestOnServer, OldestOnServer on Pg, in "payment_classes",
    "found.id", "LATERAL (", ")", "= ANY (ARRAY [page.wanted])"
);

over_classes! { CountInFile on Sqlite, in "payments" => Nullable<BigInt> {
    "SELECT CAST(SUM((SELECT COUNT(*)" ; ")) AS BIGINT) FROM classes"
} }
over_classes! { CountOnServer on Pg, in "payment_classes" => Nullable<BigInt> {
    "SELECT CAST(SUM((SELECT COUNT(*)" ; ")) AS BIGINT) FROM classes"
} }

/// Whether a filter selects some of the classes only.
pub(super) const fn are_filtered(filter: &PaymentFilter) -> bool {
    filter.status.is_some() || filter.kind.is_some() || filter.method.is_some() || filter.currency.is_some()
}

/// A statement with the parameters that all these statements have.
macro_rules! statement_of {
    ($name:ident, $tenant:expr, $filter:expr, $range:expr $(, $field:ident $(= $value:expr)?)*) => {
        $name {
            counted_merchant: $tenant.merchant().0,
            counted_environment: $tenant.environment().as_str(),
            status: $filter.status.map(|status| status.as_str()),
            kind: $filter.kind.map(|kind| kind.as_str()),
            method: $filter.method.map(|method| method.as_str()),
            currency: $filter.currency.as_ref().map(|currency| currency.as_str()),
            merchant: $tenant.merchant().0,
            environment: $tenant.environment().as_str(),
            from: &$range.from,
            to: &$range.to,
            $( $field $(: $value)?, )*
        }
    };
}

/// The rows of a slice of a range, counted from the end that the slice names and in that order; each with the
/// number of all payments in the matching classes, whenever they were made.
pub(super) async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    range: &Range,
    slice: &Slice,
) -> Result<Vec<(Option<i64>, PaymentRow)>, Fault> {
    let (limit, offset) = (bigint(slice.limit), bigint(slice.offset));
    macro_rules! page_of {
        ($name:ident) => {
            statement_of!(
                $name,
                tenant,
                filter,
                range,
                reach = limit.saturating_add(offset),
                limit,
                offset,
                row_merchant = tenant.merchant().0,
                row_environment = tenant.environment().as_str()
            )
        };
    }
    Ok(if slice.oldest_first {
        either!(conn, load, page_of!(OldestInFile), page_of!(OldestOnServer))?
    } else {
        either!(conn, load, page_of!(NewestInFile), page_of!(NewestOnServer))?
    })
}

/// The number of payments of a range that match.
pub(super) async fn count(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    range: &Range,
) -> Result<u64, Fault> {
    macro_rules! count {
        ($name:ident) => {
            statement_of!($name, tenant, filter, range)
        };
    }
    let count: Option<i64> = either!(conn, get_result, count!(CountInFile), count!(CountOnServer))?;
    natural(count.unwrap_or(0))
}
