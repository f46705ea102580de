//! What a batch writes, once every change has been judged.
//!
//! Rows are named by the index of the job they come from, so that nothing is copied.

use std::collections::{BTreeMap, HashMap};

use quipu_kernel::{Currency, PaymentId, Tenant};
use quipu_merchants::Method;
use quipu_payments::{Customer, PaymentType, Status};

use super::state::KnownBalance;

/// How a payment's row comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Insert,
    Update,
}

/// What payments are counted by.
pub(crate) type CountKey = (Tenant, Status, PaymentType, Method, Currency);

/// An answer to be kept, of the job with this index.
#[derive(Debug)]
pub(crate) struct KeptRow {
    pub(crate) job: usize,
    pub(crate) status: u16,
    pub(crate) sealed: String,
}

/// Everything to be written.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Jobs whose nonces are burnt.
    pub(crate) nonces: Vec<usize>,
    /// Jobs whose entries, events and audit lines are written.
    pub(crate) accepted: Vec<usize>,
    /// Jobs whose customers are new.
    pub(crate) customers: Vec<(usize, Customer)>,
    /// Answers to be kept.
    pub(crate) answers: Vec<KeptRow>,
    /// For each payment the last job that has it.
    pub(crate) payments: HashMap<(Tenant, PaymentId), (Write, usize)>,
    /// By how much each counter changes.
    pub(crate) counts: BTreeMap<CountKey, i64>,
    /// The balances that changed, as they end.
    pub(crate) balances: Vec<(Tenant, Currency, KnownBalance)>,
}

impl Writes {
    /// The jobs whose payments are written in this way, in the order in which they came.
    pub(crate) fn payments_to(&self, write: Write) -> Vec<usize> {
        let of_kind = self.payments.values().filter(|(how, _)| *how == write);
        let mut jobs: Vec<usize> = of_kind.map(|(_, job)| *job).collect();
        jobs.sort_unstable();
        jobs
    }

    /// Notes that a payment is counted elsewhere by `by`.
    pub(crate) fn count(&mut self, key: CountKey, by: i64) {
        *self.counts.entry(key).or_default() += by;
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.nonces.is_empty() && self.accepted.is_empty()
    }
}
