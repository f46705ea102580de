//! The scenarios, one file a subject, each on both databases.

mod access;
mod balances;
