//! Reads of single rows by key, answered together for all callers that wait.

pub(crate) mod balances;
pub(crate) mod gather;
pub(crate) mod payments;
