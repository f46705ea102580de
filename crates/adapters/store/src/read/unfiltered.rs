//! Payments of a tenant without a filter, in the order of time.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::Tenant;

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

/// The rows of a page, each with the number of all. The keys are found in an index first, and then each row by
/// its key. The condition for that, and the additions of zero and of an empty text, leave a planner with old
/// statistics no other way.
macro_rules! page {
    ($name:ident on $backend:ty, $order:literal, $wanted:literal) => {
        statement! { $name on $backend => (Nullable<BigInt>, payments::SqlType) {
            "SELECT (SELECT CAST(SUM(count) AS BIGINT) FROM counters WHERE name = 'payments' AND merchant_id = "
                => counted_merchant: i64 as BigInt,
            " AND environment = " => counted_environment: &'a str as Text,
            concat!("), ", payment_columns!(), " FROM (SELECT id AS wanted FROM payments WHERE merchant_id = ")
                => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            " AND id >= " => from: &'a str as Text,
            " AND id < " => to: &'a str as Text,
            concat!(" ORDER BY id ", $order, " LIMIT 0 + ") => limit: i64 as BigInt,
            " OFFSET " => offset: i64 as BigInt,
            concat!(") AS page JOIN payments ON payments.id ", $wanted, " AND payments.merchant_id + 0 = ")
                => row_merchant: i64 as BigInt,
            " AND payments.environment || '' = " => row_environment: &'a str as Text ;
            concat!(" ORDER BY page.wanted ", $order)
        } }
    };
}

page!(NewestInFile on Sqlite, "DESC", "= page.wanted");
page!(OldestInFile on Sqlite, "ASC", "= page.wanted");
page!(NewestOnServer on Pg, "DESC", "= ANY (ARRAY [page.wanted])");
page!(OldestOnServer on Pg, "ASC", "= ANY (ARRAY [page.wanted])");

macro_rules! count {
    ($name:ident on $backend:ty) => {
        statement! { $name on $backend => BigInt {
            "SELECT COUNT(*) FROM payments WHERE merchant_id = " => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            " AND id >= " => from: &'a str as Text,
            " AND id < " => to: &'a str as Text ; ""
        } }
    };
}

count!(CountInFile on Sqlite);
count!(CountOnServer on Pg);

/// The rows of a slice of a range, counted from the end that the slice names and in that order; each with the
/// number of all payments, whenever they were made.
pub(super) async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    range: &Range,
    slice: &Slice,
) -> Result<Vec<(Option<i64>, PaymentRow)>, Fault> {
    let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
    macro_rules! page {
        ($name:ident) => {
            $name {
                counted_merchant: merchant,
                counted_environment: environment,
                merchant,
                environment,
                from: &range.from,
                to: &range.to,
                limit: bigint(slice.limit),
                offset: bigint(slice.offset),
                row_merchant: merchant,
                row_environment: environment,
            }
        };
    }
    Ok(if slice.oldest_first {
        either!(conn, load, page!(OldestInFile), page!(OldestOnServer))?
    } else {
        either!(conn, load, page!(NewestInFile), page!(NewestOnServer))?
    })
}

/// The number of payments in a range.
pub(super) async fn count(conn: &mut Connection, tenant: Tenant, range: &Range) -> Result<u64, Fault> {
    let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
    macro_rules! count {
        ($name:ident) => {
            $name { merchant, environment, from: &range.from, to: &range.to }
        };
    }
    natural(either!(conn, get_result, count!(CountInFile), count!(CountOnServer))?)
}
