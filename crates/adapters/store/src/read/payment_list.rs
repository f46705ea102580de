//! Pages of a tenant's payments.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, Tenant};
use quipu_payments::{Payment, PaymentFilter};

use super::{count::count, first_pages, narrow::narrowed, slice::Slice};
use crate::{
    connection::{Connection, load},
    error::Fault,
    keys::Keys,
    payment_row::PaymentRow,
    schema::payments,
};

/// A page, newest first, and the number of all that match; both of one state of the database.
pub(crate) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    if let Some((rows, total)) = first_pages::list(conn, tenant, filter, page).await? {
        return Ok((payments_of(rows)?, total));
    }
    conn.begin_snapshot().await?;
    let total = count(conn, tenant, filter).await?;
    let rows = match Slice::of(page, total) {
        Some(slice) => rows(conn, tenant, filter, &slice).await?,
        None => Vec::new(),
    };
    conn.commit().await?;
    Ok((payments_of(rows)?, total))
}

fn payments_of(rows: Vec<PaymentRow>) -> Result<Vec<Payment>, Fault> {
    rows.into_iter().map(PaymentRow::into_payment).collect()
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
        .filter(Keys::of(tenant, "payments").with("id", keys.iter().map(String::as_str)))
        .order(payments::id.desc());
    Ok(load!(conn, PaymentRow, query)?)
}
