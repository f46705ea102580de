//! The pages that are asked for the most: the newest payments of a tenant, all of them or those of a status, type, method or
//! currency. Each is one statement that is prepared once for a connection, and its total comes with its rows, of the same
//! state of the database.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{Page, Tenant};
use quipu_payments::PaymentFilter;

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

/// The sums that change nothing keep a planner with old statistics from looking for the rows of a page among all of the
/// tenant's.
macro_rules! newest {
    ($name:ident on $backend:ty) => {
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
            ") AS page JOIN payments ON payments.id = page.wanted AND payments.merchant_id + 0 = "
                => row_merchant: i64 as BigInt,
            " AND payments.environment || '' = " => row_environment: &'a str as Text ;
            " ORDER BY payments.id DESC"
        } }
    };
}

newest!(NewestInFile on Sqlite);
newest!(NewestOnServer on Pg);

/// A page and its total, if this is such a page and it is not empty.
pub(super) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<Option<(Vec<PaymentRow>, u64)>, Fault> {
    if filter.created_from.is_some() || filter.created_to.is_some() {
        return Ok(None);
    }
    let found = if are_filtered(filter) && page.offset() <= NEAR {
        let slice = Slice { oldest_first: false, offset: page.offset(), limit: page.limit().into() };
        classes::rows(conn, tenant, filter, &slice).await?
    } else if *filter == PaymentFilter::default() && page.offset() <= DEEP {
        newest(conn, tenant, page).await?
    } else {
        return Ok(None);
    };
    let Some((total, _)) = found.first() else { return Ok(None) };
    let total = natural(total.unwrap_or(0))?;
    Ok(Some((found.into_iter().map(|(_, row)| row).collect(), total)))
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
