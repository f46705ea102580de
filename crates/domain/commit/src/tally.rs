//! Counters kept in the commits of what they count, so that a list knows its exact total without counting.

use std::borrow::Cow;

use quipu_kernel::Tenant;

/// Which counter: whose, its name and its keys.
pub type CounterKey = (Tenant, Cow<'static, str>, [Cow<'static, str>; 4]);

/// Moves one counter of a tenant. A counter is found by its name and up to four keys, the rest being empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// What is counted: `payments`, `payments/2026-01-31` (those of one day), `deliveries`.
    pub name: Cow<'static, str>,
    /// By what: for payments status, type, method and currency.
    pub keys: [Cow<'static, str>; 4],
    /// By how much it changes.
    pub by: i64,
}
