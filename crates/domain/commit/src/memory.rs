//! The reference store: everything in memory, judged by the same [`judge`] as every other store.
//!
//! It stores values as they are, does no I/O and never waits, so that use cases can be tested and whole histories simulated
//! with a clock and randomness that come in as values. It forgets everything when it is dropped.

mod waiting;

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use quipu_kernel::{Currency, PaymentId, StoreError, Tenant, Timestamp, locked};
use quipu_ledger::{Balance, Entry, Reason, Transaction};

use self::waiting::Waiting;
use crate::{
    answer::{Answer, AnswerKey, IdempotencyRecord},
    changes::{Changes, Committed},
    judge::{Judged, judge},
    name::{Holder, Name},
    ports::{Commit, CommitError, MAX_CLOCK_SKEW, UsedKeys, WorkQueue},
    record::{Aggregate, Record},
    state::{AggregateKey, State},
    work::{DueWork, Queue, QueueState, Work, WorkChange, WorkInHand},
};

/// A kept idempotency key and its answer.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The key and what is known of its request.
    pub record: IdempotencyRecord,
    /// The answer; `None` while it is awaited.
    pub answer: Option<Answer>,
}

/// An entry of the ledger with its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The number of its transaction, in the order of the commits.
    pub transaction: u64,
    /// Why the money moved.
    pub reason: Reason,
    /// When it was posted (UTC).
    pub at: Timestamp,
    /// The tenant on whose accounts it is.
    pub tenant: Tenant,
    /// The payment for which the money moved, if it moved for one.
    pub payment_id: Option<PaymentId>,
    /// The currency of the entry.
    pub currency: Currency,
    /// The account and the amount.
    pub entry: Entry,
}

/// Everything that the store holds.
#[derive(Default)]
pub struct Contents {
    state: State,
    saved: BTreeMap<AggregateKey, Arc<dyn Record>>,
    /// Every row, in the order of the commits.
    pub rows: Vec<(Tenant, Arc<dyn Record>)>,
    /// Every entry, in the order of the commits.
    pub entries: Vec<Posted>,
    transactions: u64,
    /// Counters that are not zero.
    pub counters: BTreeMap<(Tenant, String, [String; 4]), i64>,
    kept: BTreeMap<AnswerKey, Kept>,
    work: BTreeMap<(Queue, Tenant, String), Waiting>,
}

impl Contents {
    /// The saved record with this identifier.
    pub fn saved<T: Record>(&self, aggregate: Aggregate, tenant: Tenant, id: &str) -> Option<&T> {
        let record = self.saved.get(&(aggregate, tenant, id.to_owned()))?;
        (&**record as &dyn Any).downcast_ref()
    }

    /// Every saved record of a kind, by tenant and identifier.
    pub fn all<T: Record>(&self, aggregate: Aggregate) -> impl Iterator<Item = (Tenant, &T)> {
        let mine = self.saved.iter().filter(move |(key, _)| key.0 == aggregate);
        mine.filter_map(|(key, record)| Some((key.1, (&**record as &dyn Any).downcast_ref()?)))
    }

    /// Every row of a type, in the order of the commits.
    pub fn rows_of<T: Record>(&self) -> impl Iterator<Item = (Tenant, &T)> {
        self.rows.iter().filter_map(|(tenant, row)| Some((*tenant, (&**row as &dyn Any).downcast_ref()?)))
    }

    /// A balance.
    pub fn balance(&self, tenant: Tenant, currency: Currency) -> Balance {
        self.state.balances.get(&(tenant, currency)).map_or(Balance::zero(currency), |known| known.balance)
    }

    /// Every balance of a tenant, by currency.
    pub fn balances(&self, tenant: Tenant) -> Vec<Balance> {
        let mine = self.state.balances.iter().filter(|((owner, _), _)| *owner == tenant);
        let mut balances: Vec<_> = mine.map(|(_, known)| known.balance).collect();
        balances.sort_by_key(|balance| balance.currency);
        balances
    }

    /// The kept key, unless it has expired at `now`.
    pub fn kept(&self, key: &AnswerKey, now: Timestamp) -> Option<&Kept> {
        self.kept.get(key).filter(|kept| kept.record.expires_at > now)
    }

    /// Whether a nonce was used.
    pub fn used(&self, tenant: Tenant, nonce: &str) -> bool {
        self.state.nonces.contains_key(&(tenant.merchant(), nonce.to_owned()))
    }

    /// The holder of a name.
    pub fn holder(&self, tenant: Tenant, name: &Name) -> Option<&Holder> {
        self.state.names.get(&(tenant, name.clone()))
    }

    /// All work of a queue, with the time from which it may be claimed.
    pub fn waiting(&self, queue: Queue) -> impl Iterator<Item = (Tenant, &Work, Timestamp)> {
        let mine = self.work.iter().filter(move |(key, _)| key.0 == queue);
        mine.map(|(key, waiting)| (key.1, &waiting.work, waiting.due_at))
    }

    /// The work of a subject, with the time from which it may be claimed.
    pub fn work_of(&self, queue: Queue, tenant: Tenant, subject: &str) -> Option<(&Work, Timestamp)> {
        let waiting = self.work.get(&(queue, tenant, subject.to_owned()))?;
        Some((&waiting.work, waiting.due_at))
    }

    /// Judges and applies one change.
    pub fn apply(&mut self, mut changes: Changes) -> Result<Committed, CommitError> {
        let Judged { mut verdicts, writes } = judge(&mut self.state, std::iter::once(&mut changes));
        let answer = verdicts.pop().unwrap_or(Ok(None))?;
        for ((tenant, name, keys), by) in writes.tallies {
            let key = (tenant, name.into_owned(), keys.map(std::borrow::Cow::into_owned));
            *self.counters.entry(key).or_default() += by;
        }
        self.counters.retain(|_, count| *count != 0);
        for kept in writes.answers {
            if let Some(record) = changes.idempotency.clone() {
                let key = record.owner.answer_key(changes.tenant, &record.key);
                self.kept.insert(key, Kept { record, answer: kept.answer });
            }
        }
        for transaction in &changes.transactions {
            self.post(changes.tenant, changes.at, changes.payment_id.as_ref(), transaction);
        }
        for change in changes.work {
            self.change_work(changes.tenant, changes.at, change);
        }
        let tenant = changes.tenant;
        let made = writes.made.iter().map(|made| made.place).collect::<Vec<_>>();
        for (place, join) in changes.joins.into_iter().enumerate() {
            if made.contains(&place) {
                self.rows.push((tenant, join.make.into()));
            }
        }
        self.rows.extend(changes.rows.into_iter().map(|record| (tenant, record.into())));
        let mut saved: Vec<Box<dyn Record>> = Vec::with_capacity(changes.saves.len());
        for save in changes.saves {
            saved.push(save.record.duplicate());
            self.saved.insert((save.aggregate, tenant, save.id), save.record.into());
        }
        Ok(Committed { saved, answer })
    }

    fn post(
        &mut self,
        tenant: Tenant,
        at: Timestamp,
        payment_id: Option<&PaymentId>,
        transaction: &Transaction,
    ) {
        self.transactions += 1;
        self.entries.extend(transaction.entries().iter().map(|entry| Posted {
            transaction: self.transactions,
            reason: transaction.reason(),
            at,
            tenant,
            payment_id: payment_id.cloned(),
            currency: transaction.currency(),
            entry: *entry,
        }));
    }

    fn change_work(&mut self, tenant: Tenant, at: Timestamp, change: WorkChange) {
        match change {
            WorkChange::Put(work) => self.put_work(tenant, work, None),
            WorkChange::Take(work) => self.put_work(tenant, work, Some(at)),
            WorkChange::Drop { queue, subject } => {
                self.work.remove(&(queue, tenant, subject));
            }
            WorkChange::PutOff { claim, due, action } => {
                if let Some(waiting) = self.claimed(&claim) {
                    waiting.work = Work { due, action, ..waiting.work.clone() };
                    waiting.due_since = due;
                    waiting.give_back(&claim, due);
                }
            }
            WorkChange::HoldUp { claim, due } => {
                if let Some(waiting) = self.claimed(&claim) {
                    waiting.give_back(&claim, due);
                }
            }
            WorkChange::Done(claim) => {
                if self.claimed(&claim).is_some() {
                    self.work.remove(&(claim.queue, claim.tenant, claim.subject));
                }
            }
        }
    }

    /// Puts work in its queue; `taken_at` is the time if a node takes it in hand at once.
    fn put_work(&mut self, tenant: Tenant, work: Work, taken_at: Option<Timestamp>) {
        let key = (work.queue, tenant, work.subject.clone());
        let turn = self.work.get(&key).map_or(1, |waiting| waiting.turn + 1);
        let (due_at, due_since) = (work.due, taken_at.unwrap_or(work.due));
        let leased = taken_at.is_some();
        self.work.insert(key, Waiting { work, due_at, due_since, attempts: 0, turn, leased });
    }

    fn claimed(&mut self, claim: &WorkInHand) -> Option<&mut Waiting> {
        let waiting = self.work.get_mut(&(claim.queue, claim.tenant, claim.subject.clone()))?;
        (waiting.turn == claim.turn).then_some(waiting)
    }

    /// Claims work that is due, beginning with the work that has been due longest.
    pub fn claim(&mut self, queue: Queue, now: Timestamp, lease: Duration, limit: usize) -> Vec<WorkInHand> {
        let due = self.due(queue, now, limit);
        self.claim_shown(due, now.plus(lease))
    }

    /// The work that is due, beginning with the work that has been due longest.
    pub fn due(&self, queue: Queue, now: Timestamp, limit: usize) -> Vec<WorkInHand> {
        let due = self.work.iter().filter(|(key, waiting)| key.0 == queue && waiting.due_at <= now);
        let mut due: Vec<_> = due.collect();
        due.sort_by_key(|(_, waiting)| waiting.due_at);
        due.into_iter().take(limit).map(|(key, waiting)| waiting.shown(key)).collect()
    }

    /// Claims work that [`Contents::due`] showed, as far as nobody has written or claimed it since.
    pub fn claim_shown(&mut self, mut shown: Vec<WorkInHand>, until: Timestamp) -> Vec<WorkInHand> {
        shown.retain_mut(|work| {
            let Some(waiting) = self.claimed(work) else { return false };
            (waiting.due_at, waiting.leased, waiting.attempts) = (until, true, work.attempts);
            waiting.turn += 1;
            work.turn = waiting.turn;
            true
        });
        shown
    }

    /// When the next work of a queue is due.
    pub fn next_due(&self, queue: Queue) -> Option<Timestamp> {
        self.work.iter().filter(|(key, _)| key.0 == queue).map(|(_, waiting)| waiting.due_at).min()
    }

    /// As [`UsedKeys::delete_expired`].
    pub fn delete_expired(&mut self, now: Timestamp, limit: usize) -> u64 {
        let before = now.minus(MAX_CLOCK_SKEW);
        let nonces = self.state.nonces.iter().filter(|(_, expires_at)| **expires_at < before);
        let mut nonces: Vec<_> = nonces.map(|(key, expires_at)| (*expires_at, key.clone())).collect();
        nonces.sort_unstable();
        nonces.truncate(limit);
        for (_, key) in &nonces {
            self.state.nonces.remove(key);
        }
        let answers = self.kept.iter().filter(|(_, kept)| kept.record.expires_at < before);
        let answers: Vec<_> = answers.map(|(key, _)| key.clone()).take(limit).collect();
        for key in &answers {
            self.kept.remove(key);
            self.state.answers.remove(key);
        }
        (nonces.len() + answers.len()) as u64
    }

    /// Releases all claims.
    pub fn release_all(&mut self) {
        for waiting in self.work.values_mut().filter(|waiting| waiting.leased) {
            (waiting.due_at, waiting.leased) = (waiting.due_since, false);
            waiting.turn += 1;
        }
    }
}

/// The reference store. Clones share their contents.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Contents>>);

impl Memory {
    /// The contents, locked while they are used.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        locked(&self.0)
    }
}

#[async_trait]
impl Commit for Memory {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        self.contents().apply(changes)
    }
}

#[async_trait]
impl WorkQueue for Memory {
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        Ok(self.contents().claim(queue, now, lease, limit.try_into().unwrap_or(usize::MAX)))
    }

    async fn due_here(
        &self,
        queue: Queue,
        now: Timestamp,
        limit: u32,
    ) -> Result<Option<DueWork>, StoreError> {
        let contents = self.contents();
        let work = contents.due(queue, now, limit.try_into().unwrap_or(usize::MAX));
        let next = contents.waiting(queue).map(|(_, _, due_at)| due_at).filter(|due_at| *due_at > now).min();
        Ok(Some(DueWork { work, next }))
    }

    async fn claim_shown(
        &self,
        shown: Vec<WorkInHand>,
        lease_until: Timestamp,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        Ok(self.contents().claim_shown(shown, lease_until))
    }

    async fn next_due(&self, queue: Queue) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.contents().next_due(queue))
    }

    async fn queues(&self, now: Timestamp) -> Result<Vec<QueueState>, StoreError> {
        let contents = self.contents();
        let mut states: BTreeMap<(Queue, &str), QueueState> = BTreeMap::new();
        for (key, waiting) in contents.work.iter().filter(|(_, waiting)| waiting.is_overdue(now)) {
            let action = waiting.work.action;
            let state = states.entry((key.0, action)).or_insert_with(|| QueueState {
                queue: key.0,
                action: action.to_owned(),
                overdue: 0,
                oldest: None,
            });
            state.overdue += 1;
            state.oldest = state.oldest.into_iter().chain([waiting.due_since]).min();
        }
        Ok(states.into_values().collect())
    }

    /// Never completes: the store in memory has no other node, and its worker polls.
    async fn woken(&self, _queue: Queue, _before: Timestamp) {
        std::future::pending::<()>().await;
    }

    async fn beat(&self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(Duration::ZERO))
    }

    async fn release_dead(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn release_all(&self) -> Result<(), StoreError> {
        self.contents().release_all();
        Ok(())
    }
}

#[async_trait]
impl UsedKeys for Memory {
    async fn delete_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let limit = limit.try_into().unwrap_or(usize::MAX);
        Ok(self.contents().delete_expired(now, limit))
    }
}
