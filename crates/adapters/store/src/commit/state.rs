//! What a batch depends on, as the database has it and as the changes accepted so far leave it.

use std::collections::{BTreeSet, HashMap};

use quipu_kernel::{Currency, CustomerId, PaymentId, Tenant, Timestamp};
use quipu_ledger::Balance;
use quipu_payments::{Audience, Customer, CustomerClaim, PaymentChange, Status};

use super::job::Job;

/// The keys of everything a batch depends on. The sets are ordered so that rows are locked in one order by everybody.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) nonces: BTreeSet<(i64, String)>,
    pub(crate) answers: BTreeSet<AnswerKey>,
    pub(crate) payments: BTreeSet<(Tenant, PaymentId)>,
    pub(crate) references: BTreeSet<(Tenant, String)>,
    pub(crate) emails: BTreeSet<(Tenant, String)>,
    pub(crate) phones: BTreeSet<(Tenant, String)>,
    pub(crate) balances: BTreeSet<(Tenant, Currency)>,
}

/// What a kept answer is found by.
pub(crate) type AnswerKey = (Tenant, Audience, String);

/// How a customer of a new payment is looked for: by e-mail address, else by telephone number, else not at all.
pub(crate) enum CustomerKey {
    Email(String),
    Phone(String),
    Nothing,
}

impl CustomerKey {
    pub(crate) fn of(customer: &Customer) -> Self {
        match (customer.email_key(), customer.phone_key()) {
            (Some(email), _) => Self::Email(email),
            (None, Some(phone)) => Self::Phone(phone),
            (None, None) => Self::Nothing,
        }
    }
}

impl Wanted {
    /// Everything `jobs` depend on.
    pub(crate) fn by(jobs: &[Job]) -> Self {
        let mut wanted = Self::default();
        for job in jobs {
            wanted.add(job);
        }
        wanted
    }

    fn add(&mut self, job: &Job) {
        let changes = &job.changes;
        let tenant = changes.tenant;
        if let Some(nonce) = &changes.nonce {
            self.nonces.insert((tenant.merchant().0, nonce.value.clone()));
        }
        if let Some(record) = &changes.idempotency {
            self.answers.insert((tenant, record.audience, record.key.as_str().to_owned()));
        }
        for transaction in changes.transactions.iter().chain(&changes.foreseen) {
            self.balances.insert((tenant, transaction.currency()));
        }
        match &changes.payment {
            Some(PaymentChange::Moved { payment, .. }) => {
                self.payments.insert((tenant, payment.id().clone()));
            }
            Some(PaymentChange::Created(payment)) => {
                self.references.insert((tenant, payment.terms().merchant_reference.clone()));
                if let Some(CustomerClaim::MatchOrCreate(_)) = changes.customer {
                    match CustomerKey::of(&payment.terms().customer) {
                        CustomerKey::Email(key) => drop(self.emails.insert((tenant, key))),
                        CustomerKey::Phone(key) => drop(self.phones.insert((tenant, key))),
                        CustomerKey::Nothing => {}
                    }
                }
            }
            None => {}
        }
    }
}

/// Where a payment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) status: Status,
    pub(crate) version: i32,
}

/// A balance, and what has to be done to its row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownBalance {
    pub(crate) balance: Balance,
    /// Whether the row exists already.
    pub(crate) stored: bool,
    /// Whether an accepted change touched it.
    pub(crate) touched: bool,
}

/// The state so far. What is absent here is absent in the database.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Nonces, with the time until which they are refused.
    pub(crate) nonces: HashMap<(i64, String), Timestamp>,
    /// Kept answers, with the time until which they are kept.
    pub(crate) answers: HashMap<AnswerKey, Timestamp>,
    pub(crate) payments: HashMap<(Tenant, PaymentId), Standing>,
    /// Held references and their holders.
    pub(crate) references: HashMap<(Tenant, String), PaymentId>,
    pub(crate) emails: HashMap<(Tenant, String), CustomerId>,
    pub(crate) phones: HashMap<(Tenant, String), CustomerId>,
    pub(crate) balances: HashMap<(Tenant, Currency), KnownBalance>,
}
