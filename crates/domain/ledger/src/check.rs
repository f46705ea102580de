//! The findings of a verification of the whole ledger.

/// One broken invariant, named so that a person can find it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Breach {
    /// The broken invariant, such as `balance_equals_entries`; docs/OPERATIONS.md lists them all.
    pub invariant: &'static str,
    /// The place of the breach: the tenant and currency, transaction, payment, event or trigger.
    pub subject: String,
    /// What was expected and what was found.
    pub detail: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct CheckReport {
    /// Balances recomputed from their entries.
    pub balances: u64,
    /// Transactions whose entries were summed.
    pub transactions: u64,
    /// Payments whose status history was walked.
    pub payments: u64,
    /// The broken invariants; at most 100 breaches of each are listed.
    pub breaches: Vec<Breach>,
}

impl CheckReport {
    /// Whether nothing is broken.
    pub fn is_clean(&self) -> bool {
        self.breaches.is_empty()
    }
}
