#![doc = include_str!("../README.md")]

mod entry;
mod minor_units;
mod statement;
mod transfers;
mod walk;

pub use entry::Entry;
pub use statement::{StatementProblem, read_statement};
pub use transfers::{BankAccount, Debtor, Transfer, Transfers, write_transfers};
