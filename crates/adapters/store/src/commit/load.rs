//! Loading the state that a batch depends on.

use std::str::FromStr;

use quipu_kernel::{Currency, Minor};
use quipu_ledger::Balance;

use super::{
    load_postgres, load_sqlite,
    state::{State, Wanted},
};
use crate::{connection::Connection, error::Fault};

/// A balance's totals, in the order of the columns.
pub(crate) type Totals = (i64, i64, i64, i64, i64, i64);

/// Begins a transaction and loads everything `wanted`. On PostgreSQL the balances and payments stay locked until it ends.
pub(crate) async fn begin(conn: &mut Connection, wanted: &Wanted) -> Result<State, Fault> {
    match conn {
        Connection::Sqlite(conn) => load_sqlite::begin(conn, wanted),
        Connection::Postgres(conn) => load_postgres::begin(conn, wanted).await,
    }
}

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
