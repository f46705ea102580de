//! The reference store, with what tests ask of it and do to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use async_trait::async_trait;
use quipu_commit::{
    Aggregate, Changes, Commit, CommitError, Committed, Holder, IdempotencyKey, IdempotencyRecord, Kept,
    KeyOwner, Memory, Queue, Save, WorkChange, WorkInHand,
};
use quipu_kernel::{Currency, CustomerId, Minor, Page, PaymentId, StoreError, Tenant, Timestamp};
use quipu_ledger::{Balance, Transaction};
use quipu_merchants::{AuditRecord, Beneficiary, Route};
use quipu_webhooks::Event;

use super::world::{START, TENANT, failed};
use crate::{
    CallbackLine, CrossTenantReads, Customer, Due, KeptKey, Payment, PaymentFilter, PaymentReads, Receipt,
    ReceiptFilter, ReceivedEvent, Refund, SearchFilter, Timeline,
};

/// What a test wants to know of a commit.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) idempotency: Option<IdempotencyRecord>,
    pub(super) audited: bool,
    pub(super) saves: bool,
    /// The number under which a customer would be made.
    pub(super) fresh_customer: Option<CustomerId>,
    /// What is to be done next, if the commit puts anything.
    pub(super) due: Option<Due>,
    /// Whether who commits does it at once.
    pub(super) takes: bool,
}

#[derive(Default)]
pub(super) struct Rows {
    pub(super) payments: BTreeMap<PaymentId, Payment>,
    pub(super) events: Vec<Event>,
    pub(super) nonces: BTreeSet<String>,
    pub(super) kept: BTreeMap<String, Kept>,
    pub(super) customers: BTreeMap<CustomerId, Customer>,
    pub(super) beneficiaries: Vec<Beneficiary>,
    pub(super) routes: Arc<[Route]>,
    pub(super) commits: Vec<Asked>,
}

#[derive(Default)]
pub(super) struct FakeStore {
    memory: Memory,
    rows: Mutex<Rows>,
    /// While set, commits wait.
    pub(super) holds: AtomicBool,
    /// While set, everything fails.
    pub(super) fails: AtomicBool,
    /// While set, the store is overloaded from behind the next commit on.
    pub(super) tires: AtomicBool,
    overloaded: AtomicBool,
    /// The next commit finds that this has been committed just before it.
    intruder: Mutex<Option<Changes>>,
}

impl FakeStore {
    /// The queue of work behind what was committed.
    pub(super) fn queue(&self) -> Memory {
        self.memory.clone()
    }

    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no test panics with the lock")
    }

    pub(super) fn set_routes(&self, routes: Vec<Route>) {
        self.rows().routes = routes.into();
    }

    pub(super) fn add_payment(&self, payment: Payment) {
        let mut changes = Changes::new(payment.terms().tenant, START);
        changes.saves.push(Save {
            aggregate: Aggregate::PAYMENT,
            id: payment.id().as_str().to_owned(),
            from: None,
            to: payment.state().revision,
            record: Box::new(payment),
        });
        self.apply(changes).expect("a payment that is put there");
    }

    pub(super) fn payment(&self, id: &PaymentId) -> Payment {
        let contents = self.memory.contents();
        contents.saved::<Payment>(Aggregate::PAYMENT, TENANT, id.as_str()).expect("a payment").clone()
    }

    /// What is to be done next with a payment.
    pub(super) fn due(&self, id: &PaymentId) -> Option<Due> {
        let contents = self.memory.contents();
        let (work, at) = contents.work_of(Queue::SETTLEMENT, TENANT, id.as_str())?;
        Some(Due { at, action: work.action.parse().expect("an action") })
    }

    /// What a worker that has just claimed a payment holds in its hands.
    pub(super) fn claim(&self, id: &PaymentId) -> Option<WorkInHand> {
        let contents = self.memory.contents();
        let everything = contents.due(Queue::SETTLEMENT, Timestamp::from_millis(i64::MAX), usize::MAX);
        everything.into_iter().find(|work| work.subject == id.as_str())
    }

    pub(super) fn adjust(&self, tenant: Tenant, currency: Currency, amount: Minor) {
        let mut changes = Changes::new(tenant, START);
        changes.transactions.push(Transaction::adjustment(currency, amount));
        self.memory.contents().apply(changes).expect("in range");
    }

    pub(super) fn balance_of(&self, tenant: Tenant, currency: Currency) -> Balance {
        self.memory.contents().balance(tenant, currency)
    }

    /// Is overloaded no longer.
    pub(super) fn rests(&self) {
        self.tires.store(false, Ordering::Relaxed);
        self.overloaded.store(false, Ordering::Relaxed);
    }

    pub(super) fn intrude(&self, changes: Changes) {
        *self.intruder.lock().expect("no test panics with the lock") = Some(changes);
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.overloaded.load(Ordering::Relaxed) {
            return Err(StoreError::Overloaded);
        }
        if self.fails.load(Ordering::Relaxed) { failed() } else { Ok(()) }
    }

    fn apply(&self, changes: Changes) -> Result<Committed, CommitError> {
        self.rows().commits.push(asked(&changes));
        let (tenant, nonce) = (changes.tenant, changes.nonce.clone());
        let key = changes.idempotency.as_ref().map(|record| (record.owner, record.key.clone()));
        let mut contents = self.memory.contents();
        let committed = contents.apply(changes);
        let mut rows = self.rows();
        rows.nonces.extend(nonce.map(|nonce| nonce.value).filter(|value| contents.used(tenant, value)));
        if let Some((owner, key)) = key
            && let Some(kept) = contents.kept(&owner.answer_key(tenant, &key), START)
        {
            rows.kept.insert(key.as_str().to_owned(), kept.clone());
        }
        rows.events = contents.rows_of::<Event>().map(|(_, event)| event.clone()).collect();
        let payments = contents.all::<Payment>(Aggregate::PAYMENT);
        rows.payments = payments.map(|(_, payment)| (payment.id().clone(), payment.clone())).collect();
        committed
    }
}

fn asked(changes: &Changes) -> Asked {
    let due = changes.work.iter().find_map(|change| match change {
        WorkChange::Put(put) | WorkChange::Take(put) => {
            Some(Due { at: put.due, action: put.action.parse().ok()? })
        }
        _ => None,
    });
    let takes = changes.work.iter().any(|change| matches!(change, WorkChange::Take(_)));
    Asked {
        idempotency: changes.idempotency.clone(),
        audited: changes.rows_of::<AuditRecord>().next().is_some(),
        saves: !changes.saves.is_empty(),
        fresh_customer: changes.joins.iter().find_map(|join| match join.fresh {
            Holder::Number(number) => Some(CustomerId(number)),
            Holder::Text(_) => None,
        }),
        due,
        takes,
    }
}

#[async_trait]
impl Commit for FakeStore {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let held = || self.holds.load(Ordering::Relaxed);
        poll_fn(|_| if held() { Poll::Pending } else { Poll::Ready(()) }).await;
        self.check()?;
        let intruder = self.intruder.lock().expect("no test panics with the lock").take();
        if let Some(intruder) = intruder {
            self.apply(intruder).expect("the intruder comes first");
        }
        self.overloaded.store(self.tires.load(Ordering::Relaxed), Ordering::Relaxed);
        self.apply(changes)
    }
}

#[async_trait]
impl PaymentReads for FakeStore {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        self.check()?;
        let contents = self.memory.contents();
        Ok(contents.saved::<Payment>(Aggregate::PAYMENT, tenant, id.as_str()).cloned())
    }

    async fn payments(
        &self,
        _: Tenant,
        _: &PaymentFilter,
        _: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        unreachable!("no use case lists payments")
    }

    async fn customer(&self, _: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreError> {
        self.check()?;
        Ok(self.rows().customers.get(&id).cloned())
    }

    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptKey>, StoreError> {
        self.check()?;
        assert_eq!(owner, KeyOwner::Merchant);
        let contents = self.memory.contents();
        let kept = contents.kept(&owner.answer_key(tenant, key), now);
        Ok(kept.map(|kept| KeptKey {
            body_hash: kept.record.body_hash.clone(),
            payment_id: kept.record.payment_id.clone(),
            answer: kept.answer.clone(),
        }))
    }
}

#[async_trait]
impl CrossTenantReads for FakeStore {
    async fn find_payment(&self, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        self.check()?;
        let contents = self.memory.contents();
        let mut all = contents.all::<Payment>(Aggregate::PAYMENT);
        Ok(all.find(|(_, payment)| payment.id() == id).map(|(_, payment)| payment.clone()))
    }

    async fn search_payments(&self, _: &SearchFilter, _: Page) -> Result<(Vec<Payment>, u64), StoreError> {
        unreachable!("no use case searches")
    }

    async fn timeline(&self, payment: &Payment) -> Result<Timeline, StoreError> {
        self.check()?;
        let contents = self.memory.contents();
        let received = contents.rows_of::<ReceivedEvent>();
        let of_payment = received.filter(|(_, received)| received.payment_id.as_ref() == Some(payment.id()));
        let callbacks = of_payment.map(|(_, received)| CallbackLine {
            rail: received.rail.clone(),
            event_id: received.event.id.clone(),
            kind: received.event.kind.as_str().to_owned(),
            outcome: received.outcome.to_owned(),
            received_at: received.at,
        });
        let receipts = contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt);
        let receipts = receipts.filter(|receipt| receipt.payment_id.as_ref() == Some(payment.id()));
        Ok(Timeline {
            callbacks: callbacks.collect(),
            receipts: receipts.cloned().collect(),
            ..Timeline::default()
        })
    }

    async fn has_received(&self, rail: &str, event_id: &str) -> Result<bool, StoreError> {
        self.check()?;
        let contents = self.memory.contents();
        let mut received = contents.rows_of::<ReceivedEvent>();
        Ok(received.any(|(_, received)| received.rail == rail && received.event.id == event_id))
    }

    async fn refunds(&self, _: Tenant, id: &PaymentId) -> Result<Vec<Refund>, StoreError> {
        let contents = self.memory.contents();
        let of_payment = contents.rows_of::<Refund>().filter(|(_, refund)| &refund.payment_id == id);
        Ok(of_payment.map(|(_, refund)| refund.clone()).collect())
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        let contents = self.memory.contents();
        let mut all = contents.all::<Receipt>(Aggregate::RECEIPT);
        Ok(all.find(|(_, receipt)| receipt.receipt_id == id).map(|(_, receipt)| receipt.clone()))
    }

    async fn receipts(&self, _: &ReceiptFilter, _: Page) -> Result<(Vec<Receipt>, u64), StoreError> {
        let contents = self.memory.contents();
        let all: Vec<_> =
            contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt.clone()).collect();
        let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
        Ok((all, total))
    }
}
