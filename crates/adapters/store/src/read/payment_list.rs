//! Pages of a tenant's payments.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, Tenant};
use quipu_payments::{Payment, PaymentFilter};

use super::{
    classes::{self, are_filtered},
    count::{is_near, stretches, within},
    narrow::{Range, names_few, narrowed},
    slice::Slice,
    stretch::{Part, part_of},
    unfiltered,
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    keys::Keys,
    rows::{
        payment::PaymentRow,
        stored::{bigint, natural},
    },
    schema::payments,
};

/// How often the position of a page is approximated before the remaining rows are skipped one by one.
const APPROACHES: usize = 8;

/// A page, newest first, and the number of all that match; both from the same state of the database.
pub(crate) async fn list(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    if !names_few(filter) && is_near(filter, page) {
        let slice = Slice { oldest_first: false, offset: page.offset(), limit: page.limit().into() };
        let found = slice_of(conn, tenant, filter, &Range::of(None, None), &slice).await?;
        if let Some((total, _)) = found.first() {
            let total = natural(total.unwrap_or(0))?;
            return Ok((payments_of(found.into_iter().map(|(_, row)| row))?, total));
        }
    }
    conn.begin_snapshot().await?;
    let found = in_snapshot(conn, tenant, filter, page).await?;
    conn.commit().await?;
    Ok(found)
}

/// A page, newest first, and the number of all that match, in a transaction that sees one state of the
/// database.
pub(super) async fn in_snapshot(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    let (rows, total) = if names_few(filter) {
        of_few(conn, tenant, filter, page).await?
    } else {
        let stretches = stretches(conn, tenant, filter, page).await?;
        let (oldest_first, part) = part_of(page, &stretches);
        let rows = match part {
            Some(part) => rows(conn, tenant, filter, oldest_first, part).await?,
            None => Vec::new(),
        };
        (rows, stretches.iter().map(|stretch| stretch.count).sum())
    };
    Ok((payments_of(rows.into_iter())?, total))
}

fn payments_of(rows: impl Iterator<Item = PaymentRow>) -> Result<Vec<Payment>, Fault> {
    rows.map(PaymentRow::into_payment).collect()
}

/// The rows of a slice of a range, each with the number of all that match, whenever they were made.
async fn slice_of(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    range: &Range,
    slice: &Slice,
) -> Result<Vec<(Option<i64>, PaymentRow)>, Fault> {
    if are_filtered(filter) {
        classes::rows(conn, tenant, filter, range, slice).await
    } else {
        unfiltered::rows(conn, tenant, range, slice).await
    }
}

/// The rows of a part. If many rows must be skipped that a filter scatters over an index, most of them are
/// counted instead, which costs a fraction of finding them.
async fn rows(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    oldest_first: bool,
    mut part: Part,
) -> Result<Vec<PaymentRow>, Fault> {
    let approaches = if are_filtered(filter) { APPROACHES } else { 0 };
    for _ in 0..approaches {
        let Some(lead) = part.lead(oldest_first) else { break };
        let range = Range::of(Some(lead.0), Some(lead.1));
        let count = within(conn, tenant, filter, &range).await?;
        let Some(narrower) = part.narrowed(oldest_first, lead, count) else { break };
        part = narrower;
    }
    let slice = Slice { oldest_first, offset: part.offset, limit: part.limit };
    let found = slice_of(conn, tenant, filter, &Range::of(part.from, part.to), &slice).await?;
    let mut rows: Vec<_> = found.into_iter().map(|(_, row)| row).collect();
    if oldest_first {
        rows.reverse();
    }
    Ok(rows)
}

/// Payments with a reference or of a customer, which are counted one by one. Their keys are found in an index
/// first and the rows fetched afterwards, so that skipped rows are never read.
async fn of_few(
    conn: &mut Connection,
    tenant: Tenant,
    filter: &PaymentFilter,
    page: Page,
) -> Result<(Vec<PaymentRow>, u64), Fault> {
    let counted = first!(conn, i64, narrowed!(payments::table.count().into_boxed(), tenant, filter));
    let total = natural(counted?.unwrap_or(0))?;
    let Some(Slice { oldest_first, offset, limit }) = Slice::of(page, total) else {
        return Ok((Vec::new(), total));
    };
    macro_rules! keys {
        () => {{
            let query = narrowed!(payments::table.select(payments::id).into_boxed(), tenant, filter);
            let query =
                if oldest_first { query.order(payments::id.asc()) } else { query.order(payments::id.desc()) };
            query.limit(bigint(limit)).offset(bigint(offset))
        }};
    }
    let keys = load!(conn, String, keys!())?;
    let query = payments::table
        .filter(Keys::of(tenant, "payments").with("id", keys.iter().map(String::as_str)))
        .order(payments::id.desc());
    Ok((load!(conn, PaymentRow, query)?, total))
}
