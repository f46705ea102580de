//! The rows of a chain, in their order.
//!
//! That order is the order of keys and not of arrival: it is the same on both databases, and a backup, a restored copy or
//! a promoted standby has it too. Identifiers of transactions begin with their time, so that what is old enough is
//! complete.

use diesel::{BoolExpressionMethods as _, ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::Timestamp;
use quipu_ledger::{Book, Chain, ChainedRow};

use crate::{
    audit_row::AuditRow,
    connection::{Connection, load},
    error::Fault,
    schema::{audit_log, entries},
};

/// Where a row stands among those of its chain. Entries of one transaction stand in the same place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    /// When, for a line of the audit log; 0 for entries.
    pub(crate) at: i64,
    /// The line, or the transaction.
    pub(crate) id: String,
}

impl Place {
    /// Before everything that is made from `until` on.
    pub(crate) fn of_time(book: Book, until: Timestamp) -> Self {
        match book {
            Book::Entries => Self { at: 0, id: first_id_of(until) },
            Book::AuditLog => Self { at: until.millis(), id: String::new() },
        }
    }
}

/// What an identifier in the order of time (UUID version 7) begins with, if it was made in this millisecond.
pub(crate) fn first_id_of(at: Timestamp) -> String {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    format!("{:08x}-{:04x}-", millis >> 16, millis & 0xffff)
}

/// How a chain's merchant is kept: -1 for none.
pub(crate) fn merchant_key(chain: Chain) -> i64 {
    chain.merchant.map_or(-1, |merchant| merchant.0)
}

/// How a chain's environment is kept.
pub(crate) fn environment_key(chain: Chain) -> &'static str {
    chain.environment.map_or("", quipu_kernel::Environment::as_str)
}

type EntryRow = (String, i32, String, String, i64, String, Option<String>, i64);

/// Rows behind `from` up to `to`, both of them places: `limit` or fewer, and never a part of those of one place. Fewer than
/// half of `limit` means that there are no more.
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

#[cfg(test)]
mod tests {
    use uuid::{NoContext, Uuid};

    use super::*;

    #[test]
    fn identifiers_of_a_time_begin_at_its_first_and_end_before_the_next() {
        for millis in [0, 65_535, 65_536, 1_795_000_000_123_i64] {
            let (at, next) = (Timestamp::from_millis(millis), Timestamp::from_millis(millis + 1));
            let (seconds, rest) = (millis.unsigned_abs() / 1000, millis.unsigned_abs() % 1000);
            let nanos = u32::try_from(rest).expect("below a thousand") * 1_000_000;
            let id = Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos)).to_string();
            assert!(first_id_of(at) <= id && id < first_id_of(next), "{id}");
        }
    }
}
