//! What a batch depends on, as the store has it and as the changes accepted so far leave it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quipu_kernel::{Currency, PaymentId, Tenant, Timestamp};
use quipu_ledger::Balance;

use crate::{
    answer::AnswerKey,
    changes::Changes,
    name::{Holder, Name, NameChange},
    record::Aggregate,
};

/// What an aggregate is found by. The order is the order in which rows are locked.
pub type AggregateKey = (Aggregate, Tenant, String);

/// The keys of everything a batch depends on. The sets are ordered so that rows are locked in one order by everybody.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Nonces, by merchant.
    pub nonces: BTreeSet<(i64, String)>,
    /// Kept answers.
    pub answers: BTreeSet<AnswerKey>,
    /// Aggregates. Where all that depend on one would write it, the latest revision that one of them starts from: a store
    /// whose write tells whether the row still stands there need not look before. None where somebody would not write it.
    pub aggregates: BTreeMap<AggregateKey, Option<i64>>,
    /// Names, for their holders.
    pub names: BTreeSet<(Tenant, Name)>,
    /// Balances that may change.
    pub balances: BTreeSet<(Tenant, Currency)>,
    /// Balances that something is only foreseen for. They need no lock, since nothing is written to them.
    pub foreseen: BTreeSet<(Tenant, Currency)>,
}

impl Wanted {
    fn add(&mut self, changes: &Changes) {
        let tenant = changes.tenant;
        if let Some(nonce) = &changes.nonce {
            self.nonces.insert((tenant.merchant().0, nonce.value.clone()));
        }
        if let Some(record) = &changes.idempotency {
            self.answers.insert(record.audience.answer_key(tenant, &record.key));
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

    /// Everything these changes depend on.
    pub fn by<'c>(all: impl Iterator<Item = &'c Changes>) -> Self {
        let mut wanted = Self::default();
        all.for_each(|changes| wanted.add(changes));
        let Self { balances, foreseen, .. } = &mut wanted;
        foreseen.retain(|key| !balances.contains(key));
        wanted
    }
}

/// A kept answer's guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAnswer {
    /// Until when it is kept.
    pub expires_at: Timestamp,
    /// The payment it stands for.
    pub payment_id: Option<PaymentId>,
    /// Whether the answer itself is still to come.
    pub awaited: bool,
}

/// A balance, and what has to be done to its row.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    /// The balance.
    pub balance: Balance,
    /// Whether the row exists already.
    pub stored: bool,
    /// Whether an accepted change touched it.
    pub touched: bool,
}

/// The state so far. What is absent here is absent in the store.
#[derive(Debug, Default)]
pub struct State {
    /// Nonces, with the time until which they are refused.
    pub nonces: HashMap<(i64, String), Timestamp>,
    /// Kept answers.
    pub answers: HashMap<AnswerKey, KnownAnswer>,
    /// Revisions.
    pub aggregates: HashMap<AggregateKey, i64>,
    /// Held names and their holders.
    pub names: HashMap<(Tenant, Name), Holder>,
    /// Balances.
    pub balances: HashMap<(Tenant, Currency), KnownBalance>,
}
