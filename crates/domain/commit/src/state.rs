//! The state that a batch depends on: what the store holds, updated by the changes accepted so far.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quipu_kernel::{Currency, MerchantId, PaymentId, Tenant, Timestamp};
use quipu_ledger::Balance;

use crate::{
    answer::AnswerKey,
    changes::Changes,
    name::{Holder, Name, NameChange},
    record::Aggregate,
};

/// The key of an aggregate. Rows are locked in the order of these keys.
pub type AggregateKey = (Aggregate, Tenant, String);

/// The keys of everything that a batch depends on. The sets are ordered so that every process locks rows in
/// the same order.
#[derive(Debug, Default)]
pub struct StateKeys {
    /// Nonces, by merchant.
    pub nonces: BTreeSet<(MerchantId, String)>,
    /// Keys of kept answers.
    pub answers: BTreeSet<AnswerKey>,
    /// Aggregates. `Some(revision)` if every change that depends on the aggregate also writes it: the write
    /// itself then checks the revision and no look-up is needed. `None` otherwise.
    pub aggregates: BTreeMap<AggregateKey, Option<i64>>,
    /// Names whose holders must be known.
    pub names: BTreeSet<(Tenant, Name)>,
    /// Balances that transactions change.
    pub balances: BTreeSet<(Tenant, Currency)>,
    /// Balances against which a transaction is only foreseen. They need no lock, since they are not written.
    pub foreseen: BTreeSet<(Tenant, Currency)>,
}

impl StateKeys {
    fn add(&mut self, changes: &Changes) {
        let tenant = changes.tenant;
        if let Some(nonce) = &changes.nonce {
            self.nonces.insert((tenant.merchant(), nonce.value.clone()));
        }
        if let Some(record) = &changes.idempotency {
            self.answers.insert(record.owner.answer_key(tenant, &record.key));
        }
        // A new one has an identifier that was made for it, and there is nothing to look for.
        for (save, from) in changes.saves.iter().filter_map(|save| Some((save, save.from?))) {
            let latest =
                self.aggregates.entry((save.aggregate, tenant, save.id.clone())).or_insert(Some(from));
            *latest = latest.map(|other| other.max(from));
        }
        for expect in &changes.expects {
            self.aggregates.insert((expect.aggregate, tenant, expect.id.clone()), None);
        }
        for change in &changes.names {
            // What is given up matters only to those who take it in the same batch.
            if let NameChange::Take(name, _) = change {
                self.names.insert((tenant, name.clone()));
            }
        }
        for name in changes.joins.iter().filter_map(|join| join.by.as_ref()) {
            self.names.insert((tenant, name.clone()));
        }
        self.balances.extend(changes.transactions.iter().map(|it| (tenant, it.currency())));
        self.foreseen.extend(changes.foreseen.iter().map(|it| (tenant, it.currency())));
    }

    /// The keys of everything that these changes depend on.
    pub fn by<'c>(all: impl Iterator<Item = &'c Changes>) -> Self {
        let mut wanted = Self::default();
        all.for_each(|changes| wanted.add(changes));
        let Self { balances, foreseen, .. } = &mut wanted;
        foreseen.retain(|key| !balances.contains(key));
        wanted
    }
}

/// A kept answer, as far as judging a change needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAnswer {
    /// The time until which it is kept.
    pub expires_at: Timestamp,
    /// The payment that its request created, if it created one.
    pub payment_id: Option<PaymentId>,
    /// Whether a later commit is to bring the answer itself.
    pub awaited: bool,
}

/// A balance, and whether its row must be written.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    /// Its value after the changes accepted so far.
    pub balance: Balance,
    /// Whether the row exists already.
    pub stored: bool,
    /// Whether an accepted change has changed it.
    pub touched: bool,
}

/// The state so far. A key that is absent here is absent in the store.
#[derive(Debug, Default)]
pub struct State {
    /// Nonces, with the time until which they are refused.
    pub nonces: HashMap<(MerchantId, String), Timestamp>,
    /// Kept answers.
    pub answers: HashMap<AnswerKey, KnownAnswer>,
    /// Revisions of aggregates.
    pub aggregates: HashMap<AggregateKey, i64>,
    /// Held names and their holders.
    pub names: HashMap<(Tenant, Name), Holder>,
    /// Balances, each with the state of its row.
    pub balances: HashMap<(Tenant, Currency), KnownBalance>,
}
