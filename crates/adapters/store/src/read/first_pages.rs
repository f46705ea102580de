//! The pages that are asked for the most: the newest payments of a tenant, all of them or those in one status. Each is one
//! statement that is prepared once for a connection, and its total comes with its rows, of the same state of the database.

use diesel::{
    pg::Pg,
    sql_types::{BigInt, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::{Page, Tenant};
use quipu_payments::PaymentFilter;

use super::count::DEEP;
use crate::{
    connection::Connection,
    error::Fault,
    payment_row::{PaymentRow, payment_columns},
    schema::payments,
    statement::statement,
};

/// What stands behind the name narrows the counters and the payments. The sums that change nothing keep a planner with old
/// statistics from looking for the rows of a page among all of the tenant's.
macro_rules! newest {
    ($backend:ty, $name:ident $(, $counted:literal, $narrowed:literal, $first:ident, $second:ident)?) => {
        statement! { $name on $backend => (Nullable<BigInt>, payments::SqlType) {
            "SELECT (SELECT CAST(SUM(count) AS BIGINT) FROM counters WHERE name = 'payments' AND merchant_id = "
                => counted_merchant: i64 as BigInt,
            " AND environment = " => counted_environment: &'a str as Text,
            $( $counted => $first: &'a str as Text, )?
            concat!(
                "), ",
                payment_columns!(),
                " FROM (SELECT id AS wanted FROM payments WHERE merchant_id = "
            ) => merchant: i64 as BigInt,
            " AND environment = " => environment: &'a str as Text,
            $( $narrowed => $second: &'a str as Text, )?
            " ORDER BY id DESC LIMIT " => limit: i64 as BigInt,
            " OFFSET " => offset: i64 as BigInt,
            ") AS page JOIN payments ON payments.id = page.wanted AND payments.merchant_id + 0 = "
                => row_merchant: i64 as BigInt,
            " AND payments.environment || '' = " => row_environment: &'a str as Text ;
            " ORDER BY payments.id DESC"
        } }
    };
}

newest!(Sqlite, NewestInFile);
newest!(Pg, NewestOnServer);
newest!(Sqlite, NewestOfStatusInFile, " AND key1 = ", " AND status = ", counted_status, status);
newest!(Pg, NewestOfStatusOnServer, " AND key1 = ", " AND status = ", counted_status, status);

/// What a statement finds: the total beside each row.
type Found = Vec<(Option<i64>, PaymentRow)>;

/// A page and its total, if this is such a page and it is not empty.
pub(super) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<Option<(Vec<PaymentRow>, u64)>, Fault> {
    let plain = PaymentFilter { status: filter.status, ..PaymentFilter::default() };
    if *filter != plain || page.offset() > DEEP {
        return Ok(None);
    }
    let (merchant, environment) = (tenant.merchant().0, tenant.environment().as_str());
    let (limit, offset) = (i64::from(page.limit()), i64::try_from(page.offset()).unwrap_or(i64::MAX));
    macro_rules! newest {
        ($name:ident $(, $first:ident, $second:ident = $status:expr)?) => {
            $name {
                counted_merchant: merchant,
                counted_environment: environment,
                $( $first: $status, $second: $status, )?
                merchant,
                environment,
                limit,
                offset,
                row_merchant: merchant,
                row_environment: environment,
            }
        };
    }
    macro_rules! found {
        ($conn:expr, $query:expr) => {
            diesel_async::RunQueryDsl::load($query, &mut ***$conn).await?
        };
    }
    let found: Found = match (conn, filter.status) {
        (Connection::Sqlite(conn), None) => diesel::RunQueryDsl::load(newest!(NewestInFile), conn)?,
        (Connection::Sqlite(conn), Some(status)) => {
            let query = newest!(NewestOfStatusInFile, counted_status, status = status.as_str());
            diesel::RunQueryDsl::load(query, conn)?
        }
        (Connection::Postgres(conn), None) => found!(conn, newest!(NewestOnServer)),
        (Connection::Postgres(conn), Some(status)) => {
            found!(conn, newest!(NewestOfStatusOnServer, counted_status, status = status.as_str()))
        }
    };
    let Some((total, _)) = found.first() else { return Ok(None) };
    let total = u64::try_from(total.unwrap_or(0))
        .map_err(|_| Fault::Corrupt("a negative number of payments".to_owned()))?;
    Ok(Some((found.into_iter().map(|(_, row)| row).collect(), total)))
}
