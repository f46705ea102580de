//! Reads by key, which everybody who waits shares.

pub(crate) mod balances;
pub(crate) mod gather;
pub(crate) mod payments;
