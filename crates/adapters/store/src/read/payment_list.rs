//! Pages of a tenant's payments.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, Tenant};
use quipu_payments::{Payment, PaymentFilter};

use super::{
    classes::{self, are_filtered},
    count::stretches,
    narrow::narrowed,
    slice::{self, Slice},
    stretch::{Part, parts_of},
};
use crate::{
    connection::{Connection, load},
    error::Fault,
    keys::Keys,
    payment_row::PaymentRow,
    schema::payments,
};

/// How often the place of a page is looked for before the rest of what is skipped is passed one by one.
const APPROACHES: usize = 8;

/// A page, newest first, and the number of all that match; both of one state of the database.
pub(crate) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    conn.begin_snapshot().await?;
    let stretches = stretches(conn, tenant, filter, page).await?;
    let (oldest_first, parts) = parts_of(page, &stretches);
    let rows = if are_filtered(filter) {
        rows_of_classes(conn, tenant, filter, oldest_first, parts).await?
    } else {
        rows(conn, tenant, filter, oldest_first, parts).await?
    };
    conn.commit().await?;
    let payments: Result<_, _> = rows.into_iter().map(PaymentRow::into_payment).collect();
    Ok((payments?, stretches.iter().map(|stretch| stretch.count).sum()))
}

/// The keys are found in an index first and the rows fetched afterwards, so that what is skipped is never read.
async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    oldest_first: bool,
    parts: Vec<Part>,
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

/// The payments of each stretch are found by what the filter asks for. Where many of a stretch are skipped, most of them are
/// counted instead, which costs a fraction of finding them.
async fn rows_of_classes(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    oldest_first: bool,
    parts: Vec<Part>,
) -> Result<Vec<PaymentRow>, Fault> {
    let within = |from, to| PaymentFilter { created_from: from, created_to: to, ..filter.clone() };
    let mut rows = Vec::new();
    for mut part in parts {
        for _ in 0..APPROACHES {
            let Some(lead) = part.lead(oldest_first) else { break };
            let count = classes::count(conn, tenant, &within(Some(lead.0), Some(lead.1))).await?;
            let Some(narrower) = part.narrowed(oldest_first, lead, count) else { break };
            part = narrower;
        }
        let slice = Slice { oldest_first, offset: part.offset, limit: part.limit };
        let found = classes::rows(conn, tenant, &within(part.from, part.to), &slice).await?;
        rows.extend(found.into_iter().map(|(_, row)| row));
    }
    if oldest_first {
        rows.reverse();
    }
    Ok(rows)
}
