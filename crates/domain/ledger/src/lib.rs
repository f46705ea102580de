#![doc = include_str!("../README.md")]

mod account;
mod balance;
mod check;
mod ports;
mod transaction;

pub use account::Account;
pub use balance::{Balance, PostingError};
pub use check::{Breach, CheckReport};
pub use ports::{LedgerReads, LedgerUnavailable};
pub use transaction::{Entry, Reason, Transaction, Unbalanced};
