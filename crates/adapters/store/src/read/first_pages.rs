//! The pages that are asked for the most: the newest payments of a tenant, all of them or those of a status, type, method or
//! currency. Each is one statement that is prepared and planned once for a connection, and its total comes with its rows, of
//! the same state of the database.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{Page, Tenant};
use quipu_payments::{Payment, PaymentFilter};

use super::{
    classes::{self, are_filtered},
    count::DEEP,
    slice::{self, Slice, natural},
    stretch::NEAR,
};
use crate::{
    connection::Connection,
    error::Fault,
    payment_row::{PaymentRow, payment_columns},
    schema::payments,
    statement::statement,
};

/// The keys are found in an index first, and then each row by its key. The condition that finds it, and the sums that change
/// nothing, leave a planner with old statistics no other way.
macro_rules! newest {
    ($name:ident on $backend:ty, $wanted:literal) => {
        statement! { $name on $backend => (Nullable<BigInt>, payments::SqlType) {
            "SELECT (SELECT CAST(SUM(count) AS BIGINT) FROM counters WHERE name = 'payments' AND merchant_id = "
                => counted_merchant: i64 as BigInt,
            " AND environment = " => counted_environment: &'a str as Text,
            concat!(
                "), ",
                payment_columns!(),
                " FROM (SELECT id AS wanted FROM payments WHERE merchant_id = "
            ) => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            " ORDER BY id DESC LIMIT " => limit: i64 as BigInt,
            " OFFSET " => offset: i64 as BigInt,
            concat!(") AS page JOIN payments ON payments.id ", $wanted, " AND payments.merchant_id + 0 = ")
                => row_merchant: i64 as BigInt,
            " AND payments.environment || '' = " => row_environment: &'a str as Text ;
            " ORDER BY page.wanted DESC"
        } }
    };
}

newest!(NewestInFile on Sqlite, "= page.wanted");
newest!(NewestOnServer on Pg, "= ANY (ARRAY [page.wanted])");

/// Whether this is such a page.
pub(super) fn is_one(filter: &PaymentFilter, page: Page) -> bool {
    if filter.created_from.is_some() || filter.created_to.is_some() {
        return false;
    }
    are_filtered(filter) && page.offset() <= NEAR
        || *filter == PaymentFilter::default() && page.offset() <= DEEP
}

/// The page and its total, if it is not empty.
pub(super) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<Option<(Vec<Payment>, u64)>, Fault> {
    let found = if are_filtered(filter) {
        let slice = Slice { oldest_first: false, offset: page.offset(), limit: page.limit().into() };
        classes::rows(conn, tenant, filter, &slice).await?
    } else {
        newest(conn, tenant, page).await?
    };
    let Some((total, _)) = found.first() else { return Ok(None) };
    let total = natural(total.unwrap_or(0))?;
    let rows: Result<_, _> = found.into_iter().map(|(_, row)| row.into_payment()).collect();
    Ok(Some((rows?, total)))
}

async fn newest(
    conn: &mut Connection,
    tenant: Tenant,
    page: Page,
) -> Result<Vec<(Option<i64>, PaymentRow)>, Fault> {
    let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
    macro_rules! newest {
        ($name:ident) => {
            $name {
                counted_merchant: merchant,
                counted_environment: environment,
                merchant,
                environment,
                limit: page.limit().into(),
                offset: slice::rows(page.offset()),
                row_merchant: merchant,
                row_environment: environment,
            }
        };
    }
    Ok(match conn {
        Connection::Sqlite(conn) => diesel::RunQueryDsl::load(newest!(NewestInFile), conn)?,
        Connection::Postgres(conn) => {
            diesel_async::RunQueryDsl::load(newest!(NewestOnServer), &mut ***conn).await?
        }
    })
}
