//! Pages of payments over all merchants.

use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::sql,
    sql_types::{BigInt, Bool, Text},
};
use quipu_kernel::{Environment, MerchantId, Page, Tenant};
use quipu_payments::{Payment, SearchFilter};

use super::{
    narrow::{names_few, ranged, sifted, sifted_by_class, sifted_by_time},
    payment_list,
};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    rows::{
        payment::PaymentRow,
        stored::{bigint, natural},
    },
    schema::payments,
};

/// The payments of all merchants that meet a condition, for which there is an index within each merchant and
/// environment. The order of the joins is the order of the loops.
macro_rules! of_everyone {
    ($condition:literal) => {
        concat!(
            "SELECT found.id FROM merchants CROSS JOIN (SELECT 'live' AS name UNION ALL SELECT 'test') AS environment \
             CROSS JOIN payments AS found WHERE found.merchant_id = merchants.id AND found.environment = environment.name \
             AND ",
            $condition
        )
    };
}

/// Whether a payment has this reference, of whichever merchant.
macro_rules! with_reference {
    ($reference:expr) => {
        sql::<Bool>(concat!(
            "payments.id IN (",
            of_everyone!("found.holds_reference AND found.merchant_reference = ")
        ))
        .bind::<Text, _>($reference)
        .sql(concat!(
            " UNION ALL ",
            of_everyone!("NOT found.holds_reference AND found.merchant_reference = ")
        ))
        .bind::<Text, _>($reference)
        .sql(")")
    };
}

/// Whether a payment is of the customer with this number, of whichever merchant.
macro_rules! of_customer {
    ($customer:expr) => {
        sql::<Bool>(concat!("payments.id IN (", of_everyone!("found.customer_id = ")))
            .bind::<BigInt, _>($customer)
            .sql(")")
    };
}

/// A page, newest first, and the number of all that match; both from the same state of the database.
pub(crate) async fn search(
    conn: &mut Connection,
    filter: &SearchFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    conn.begin_snapshot().await?;
    let found = match (filter.merchant, filter.environment, &filter.rail) {
        (Some(merchant), Some(environment), None) => {
            let tenant = Tenant::new(merchant, environment);
            payment_list::in_snapshot(conn, tenant, &filter.payment, page).await?
        }
        (Some(merchant), None, None) => match reach(page) {
            Some(reach) => of_merchant(conn, merchant, filter, page, reach).await?,
            None => among_all(conn, filter, page).await?,
        },
        _ => among_all(conn, filter, page).await?,
    };
    conn.commit().await?;
    Ok(found)
}

/// The page of everything up to the end of this one, unless that is too much for a page.
fn reach(page: Page) -> Option<Page> {
    let items = page.offset().checked_add(page.limit().into())?;
    Page::new(u32::try_from(items).ok()?, 0)
}

/// A page of a merchant's payments, merged from those of its environments.
async fn of_merchant(
    conn: &mut Connection,
    merchant: MerchantId,
    filter: &SearchFilter,
    page: Page,
    reach: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    let (mut merged, mut total) = (Vec::new(), 0);
    for environment in Environment::ALL {
        let tenant = Tenant::new(merchant, environment);
        let (found, count) = payment_list::in_snapshot(conn, tenant, &filter.payment, reach).await?;
        merged.extend(found);
        total += count;
    }
    merged.sort_by(|one: &Payment, other| other.id().cmp(one.id()));
    let skipped = reach.limit() - page.limit();
    Ok((merged.into_iter().skip(skipped as usize).take(page.limit() as usize).collect(), total))
}

/// A page of the payments of all merchants that match. Those with a reference or of a customer are found in an
/// index; otherwise all payments are compared.
async fn among_all(
    conn: &mut Connection,
    filter: &SearchFilter,
    page: Page,
) -> Result<(Vec<Payment>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {{
            let SearchFilter { merchant, environment, rail, payment } = filter;
            let mut query = sifted_by_class!($query, payment);
            if let Some(environment) = environment {
                query = sifted!(query, "environment", "=", environment.as_str());
            }
            if let Some(rail) = rail {
                query = query.filter(payments::rail.eq(rail));
            }
            if let Some(reference) = &payment.merchant_reference {
                query = query.filter(with_reference!(reference));
            }
            if let Some(customer) = payment.customer_id {
                query = query.filter(of_customer!(customer.0));
            }
            match (merchant, names_few(payment)) {
                (Some(merchant), true) => {
                    let is_theirs = sql::<Bool>("payments.merchant_id + 0 = ").bind::<BigInt, _>(merchant.0);
                    sifted_by_time!(query.filter(is_theirs), payment)
                }
                (None, true) => sifted_by_time!(query, payment),
                (Some(merchant), false) => {
                    ranged!(query.filter(payments::merchant_id.eq(merchant.0)), payment)
                }
                (None, false) => ranged!(query, payment),
            }
        }};
    }
    let total = first!(conn, i64, narrowed!(payments::table.count().into_boxed()))?.unwrap_or(0);
    // The keys are found first, so that what is skipped is never read.
    let keys: Vec<String> = load!(
        conn,
        String,
        narrowed!(payments::table.select(payments::id).into_boxed())
            .order(payments::id.desc())
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    let query = payments::table.filter(payments::id.eq_any(&keys)).order(payments::id.desc());
    let rows = load!(conn, PaymentRow, query)?;
    let payments = rows.into_iter().map(PaymentRow::into_payment).collect::<Result<_, _>>()?;
    Ok((payments, natural(total)?))
}
