#![doc = include_str!("../README.md")]

mod minor_units;
mod problem;
mod statement;
mod transfers;
mod walk;

pub use problem::StatementProblem;
pub use statement::read_statement;
pub use transfers::{Transfers, account_misfit, transfer_misfit, write_transfers};
