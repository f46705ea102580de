//! The rows of a chain, in order.
//!
//! The order is that of keys and not of arrival. It is the same on both databases, in a backup, a restored
//! copy and a promoted standby. Identifiers of transactions begin with their time, so that no row can be
//! added any more before a place that is old enough.

use diesel::{BoolExpressionMethods as _, ExpressionMethods as _, QueryDsl as _};
use quipu_ledger::{Book, Chain, ChainedRow};

use crate::{
    connection::{Connection, load},
    error::Fault,
    rows::{audit::AuditRow, chain_place::Place},
    schema::{audit_log, entries},
};

/// The merchant of a chain as the column stores it: -1 for none.
pub(crate) fn merchant_key(chain: Chain) -> i64 {
    chain.merchant.map_or(-1, |merchant| merchant.0)
}

/// The environment of a chain as the column stores it.
pub(crate) fn environment_key(chain: Chain) -> &'static str {
    chain.environment.map_or("", quipu_kernel::Environment::as_str)
}

type EntryRow = (String, i32, String, String, i64, String, Option<String>, i64);

/// The rows after the place `from` up to the place `to`: at most `limit`, and all rows of one place or none
/// of them. Fewer than half of `limit` means that there are no more.
pub(crate) async fn read(
    conn: &mut Connection,
    chain: Chain,
    from: &Place,
    to: &Place,
    limit: usize,
) -> Result<Vec<(Place, ChainedRow)>, Fault> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows: Vec<_> = match chain.book {
        Book::Entries => {
            let (merchant, environment) = (merchant_key(chain), environment_key(chain));
            let query = entries::table
                .filter(entries::merchant_id.eq(merchant))
                .filter(entries::environment.eq(environment))
                .filter(entries::transaction_id.gt(&from.id))
                .filter(entries::transaction_id.le(&to.id))
                .order((entries::transaction_id, entries::line))
                .limit(most)
                .select((
                    entries::transaction_id,
                    entries::line,
                    entries::currency,
                    entries::account,
                    entries::amount,
                    entries::reason,
                    entries::payment_id,
                    entries::created_at,
                ));
            let rows = load!(conn, EntryRow, query)?;
            rows.into_iter().map(|row| chained_entry(merchant, environment, row)).collect()
        }
        Book::AuditLog => {
            macro_rules! narrowed {
                ($query:expr) => {
                    match chain.merchant {
                        Some(merchant) => $query.filter(audit_log::merchant_id.eq(merchant.0)),
                        None => $query.filter(audit_log::merchant_id.is_null()),
                    }
                };
            }
            let rows = load!(
                conn,
                AuditRow,
                narrowed!(audit_log::table.into_boxed())
                    .filter(audit_log::at.ge(from.at))
                    .filter(audit_log::at.gt(from.at).or(audit_log::id.gt(&from.id)))
                    .filter(audit_log::at.le(to.at))
                    .filter(audit_log::at.lt(to.at).or(audit_log::id.le(&to.id)))
                    .order((audit_log::at, audit_log::id))
                    .limit(most)
            )?;
            rows.iter().map(|row| (row.place(), row.chained())).collect()
        }
    };
    // The last transaction may go on behind the limit, unless it is all there is.
    if rows.len() >= limit
        && let Some(last) = rows.last().map(|(place, _)| place.clone())
        && rows.first().is_some_and(|(place, _)| *place != last)
    {
        rows.retain(|(place, _)| *place != last);
    }
    Ok(rows)
}

fn chained_entry(merchant: i64, environment: &str, row: EntryRow) -> (Place, ChainedRow) {
    let (transaction, line, currency, account, amount, reason, payment, at) = row;
    let chained = ChainedRow::new()
        .number(merchant)
        .text(environment)
        .text(&transaction)
        .number(line.into())
        .text(&currency)
        .text(&account)
        .number(amount)
        .text(&reason)
        .text_or_none(payment.as_deref())
        .number(at);
    (Place { at: 0, id: transaction }, chained)
}
