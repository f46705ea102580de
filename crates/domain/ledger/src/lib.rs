#![doc = include_str!("../README.md")]

mod account;
mod balance;
mod chain;
mod check;
mod ports;
mod transaction;

pub use account::Account;
pub use balance::{Balance, PostingError};
pub use chain::{Book, Chain, ChainHash, ChainedRow, Head, NoHash, Sealed};
pub use check::{Breach, CheckReport};
pub use ports::{Chains, LedgerReads};
pub use transaction::{Entry, Reason, Transaction, Unbalanced};
