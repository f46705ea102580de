//! Statements and files of banks.

pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod not_provided;
pub(crate) mod transfer;
