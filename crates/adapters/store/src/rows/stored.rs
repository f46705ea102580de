//! Conversion of stored columns.

use std::str::FromStr;

use diesel::Queryable;
use quipu_kernel::{Currency, MerchantId, Minor, Tenant};
use quipu_ledger::Balance;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::Fault;

/// A balance's totals, in minor units.
#[derive(Clone, Copy, Queryable)]
pub(crate) struct Totals {
    available: i64,
    frozen: i64,
    deposit: i64,
    withdrawal: i64,
    commission: i64,
    adjustment: i64,
}

/// The columns of [`Totals`], in the order of its fields.
macro_rules! totals {
    () => {
        (
            balances::available,
            balances::frozen,
            balances::deposit,
            balances::withdrawal,
            balances::commission,
            balances::adjustment,
        )
    };
}

pub(crate) use totals;

/// A number of rows or bytes as databases take it.
pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of rows as databases return it.
pub(crate) fn natural(count: i64) -> Result<u64, Fault> {
    u64::try_from(count).map_err(|_| Fault::Corrupt("a negative number of rows".to_owned()))
}

/// The tenant of a row, or [`Fault::Corrupt`] if there is no such environment.
pub(crate) fn tenant_of(merchant: i64, environment: &str) -> Result<Tenant, Fault> {
    Ok(Tenant::new(MerchantId(merchant), parsed("an environment", environment)?))
}

/// The balance of a row.
pub(crate) fn balance_from(currency: Currency, totals: Totals) -> Result<Balance, Fault> {
    let minor = |units| Minor::new(units).map_err(|error| Fault::Corrupt(format!("a balance: {error}")));
    Ok(Balance {
        currency,
        available: minor(totals.available)?,
        frozen: minor(totals.frozen)?,
        deposit: minor(totals.deposit)?,
        withdrawal: minor(totals.withdrawal)?,
        commission: minor(totals.commission)?,
        adjustment: minor(totals.adjustment)?,
    })
}

/// The key at a position that the database counted from 1.
pub(crate) fn at<K>(keys: &[K], place: i64) -> Result<&K, Fault> {
    let index = usize::try_from(place - 1).ok();
    let found = index.and_then(|index| keys.get(index));
    found.ok_or_else(|| Fault::Corrupt(format!("a row answers key {place}, and {} were sent", keys.len())))
}

/// A stored text, parsed. `what` names it in the error.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, Fault> {
    text.parse().map_err(|error| Fault::Corrupt(format!("{what} {error}")))
}

/// A value as the text of a JSON column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Mistaken(error.to_string()))
}

/// A value as JSON inside another value.
pub(crate) fn to_value(value: &impl Serialize) -> Result<serde_json::Value, Fault> {
    serde_json::to_value(value).map_err(|error| Fault::Mistaken(error.to_string()))
}

/// A value from the text of a JSON column.
pub(crate) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Corrupt(format!("{what}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::deliveries::status_of;

    #[test]
    fn a_row_that_is_not_as_it_must_be_is_named_with_what_is_wrong() {
        let status = status_of("evt_1", 7).expect_err("no status");
        assert_eq!(status.to_string(), "a delivery of evt_1 has the status 7, which is none");
        assert_eq!(at(&["a", "b"], 2).ok(), Some(&"b"));
        for place in [0, 3, i64::MAX] {
            let beyond = at(&["a", "b"], place).expect_err("beyond").to_string();
            assert_eq!(beyond, format!("a row answers key {place}, and 2 were sent"));
        }
    }
}
