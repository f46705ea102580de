//! Counters that each commit keeps up to date, so that a list knows its exact total without counting rows.

use std::borrow::Cow;

use quipu_kernel::Tenant;

/// The key of a counter: its tenant, its name and its four keys.
pub type CounterKey = (Tenant, Cow<'static, str>, [Cow<'static, str>; 4]);

/// A change of one counter of a tenant. A counter is found by its name and up to four keys, the rest being
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// The name of the counter: `payments`, `payments/2026-01-31` (those of one day), `deliveries`.
    pub name: Cow<'static, str>,
    /// The keys of the counter: for payments status, type, method and currency.
    pub keys: [Cow<'static, str>; 4],
    /// The number added to the counter; it may be negative.
    pub by: i64,
}
