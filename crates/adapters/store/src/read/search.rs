//! Pages of payments over all merchants.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, PaymentId};
use quipu_payments::{Payment, SearchFilter};

use super::narrow::after;
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    rows::{payment::PaymentRow, stored::offset},
    schema::payments,
};

/// A page, newest first, and the number of all that match; both from the same state of the database.
pub(crate) async fn search(
    conn: &mut Connection,
    filter: &SearchFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {{
            let mut query = $query;
            let SearchFilter { merchant, environment, rail, payment } = filter;
            if let Some(merchant) = merchant {
                query = query.filter(payments::merchant_id.eq(merchant.0));
            }
            if let Some(environment) = environment {
                query = query.filter(payments::environment.eq(environment.as_str()));
            }
            if let Some(rail) = rail {
                query = query.filter(payments::rail.eq(rail));
            }
            if let Some(status) = payment.status {
                query = query.filter(payments::status.eq(status.as_str()));
            }
            if let Some(kind) = payment.kind {
                query = query.filter(payments::kind.eq(kind.as_str()));
            }
            if let Some(method) = payment.method {
                query = query.filter(payments::method.eq(method.as_str()));
            }
            if let Some(currency) = &payment.currency {
                query = query.filter(payments::currency.eq(currency.as_str()));
            }
            if let Some(reference) = &payment.merchant_reference {
                query = query.filter(payments::merchant_reference.eq(reference));
            }
            if let Some(customer) = payment.customer_id {
                query = query.filter(payments::customer_id.eq(customer.0));
            }
            if let Some(from) = payment.created_from {
                query = query.filter(payments::id.ge(PaymentId::lower_bound(from)));
            }
            if let Some(to) = payment.created_to {
                query = query.filter(payments::id.lt(after(to)));
            }
            query
        }};
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(payments::table.count().into_boxed()))?.unwrap_or(0);
    // The keys are found first, so that what is skipped is never read.
    let keys: Vec<String> = load!(
        conn,
        String,
        narrowed!(payments::table.select(payments::id).into_boxed())
            .order(payments::id.desc())
            .limit(page.limit().into())
            .offset(offset(page))
    )?;
    let query = payments::table.filter(payments::id.eq_any(&keys)).order(payments::id.desc());
    let rows = load!(conn, PaymentRow, query)?;
    conn.commit().await?;
    let payments = rows.into_iter().map(PaymentRow::into_payment).collect::<Result<_, _>>()?;
    Ok((payments, u64::try_from(total).unwrap_or(0)))
}
