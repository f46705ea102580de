//! Stored columns as the values they stand for.

use std::str::FromStr;

use quipu_kernel::{Currency, Minor};
use quipu_ledger::Balance;

use crate::error::Fault;

/// A balance's totals, in the order of the columns.
pub(crate) type Totals = (i64, i64, i64, i64, i64, i64);

/// A balance from its row.
pub(crate) fn balance_from(currency: Currency, totals: Totals) -> Result<Balance, Fault> {
    let minor = |units| Minor::new(units).map_err(|error| Fault::Corrupt(format!("a balance: {error}")));
    let (available, frozen, deposit, withdrawal, commission, adjustment) = totals;
    Ok(Balance {
        currency,
        available: minor(available)?,
        frozen: minor(frozen)?,
        deposit: minor(deposit)?,
        withdrawal: minor(withdrawal)?,
        commission: minor(commission)?,
        adjustment: minor(adjustment)?,
    })
}

/// A stored text as the value it stands for.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, Fault> {
    text.parse().map_err(|error| Fault::Corrupt(format!("{what} {error}")))
}
