//! Pages of a tenant's payments.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, Tenant};
use quipu_payments::{Payment, PaymentFilter};

use super::{
    count::stretches,
    first_pages,
    narrow::narrowed,
    slice,
    stretch::{Part, parts_of},
};
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
    let stretches = stretches(conn, tenant, filter, page).await?;
    let rows = rows(conn, tenant, filter, parts_of(page, &stretches)).await?;
    conn.commit().await?;
    Ok((payments_of(rows)?, stretches.iter().map(|stretch| stretch.count).sum()))
}

fn payments_of(rows: Vec<PaymentRow>) -> Result<Vec<Payment>, Fault> {
    rows.into_iter().map(PaymentRow::into_payment).collect()
}

/// The keys are found in an index first and the rows fetched afterwards, so that what is skipped is never read.
async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    (oldest_first, parts): (bool, Vec<Part>),
) -> Result<Vec<PaymentRow>, Fault> {
    let mut keys: Vec<String> = Vec::new();
    for part in parts {
        let within = PaymentFilter { created_from: part.from, created_to: part.to, ..filter.clone() };
        macro_rules! keys {
            () => {{
                let query = narrowed!(payments::table.select(payments::id).into_boxed(), tenant, within);
                let query = if oldest_first {
                    query.order(payments::id.asc())
                } else {
                    query.order(payments::id.desc())
                };
                query.limit(slice::rows(part.limit)).offset(slice::rows(part.offset))
            }};
        }
        keys.extend(load!(conn, String, keys!())?);
    }
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let query = payments::table
        .filter(Keys::of(tenant, "payments").with("id", keys.iter().map(String::as_str)))
        .order(payments::id.desc());
    Ok(load!(conn, PaymentRow, query)?)
}
