//! The store of a world: the in-memory store with what may go wrong between a caller and a store, and with
//! the planted faults.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{
    Changes, Commit, CommitError, Committed, DueWork, IdempotencyKey, KeyOwner, Queue, QueueState,
    WorkInHand, WorkQueue,
};
use quipu_kernel::{CustomerId, Minor, Page, PaymentId, StoreError, Tenant, Timestamp, locked};
use quipu_merchants::Direction;
use quipu_payments::{
    CrossTenantReads, Customer, KeptKey, Payment, PaymentFilter, PaymentReads, Receipt, ReceiptFilter,
    Refund, SearchFilter, Status, Timeline,
};
use quipu_webhooks::Event;

use super::{corrupt::corrupt, fault::Fault, post::Post};
use crate::{chance::Dice, store::MemoryStore, turns::give_way};

/// For whom the store reads: some faults tell one use case something else than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Anybody,
    Cancel,
    Refund,
    Hear,
}

pub(crate) struct Shared {
    pub(crate) memory: MemoryStore,
    pub(crate) post: Post,
    pub(crate) fault: Option<Fault>,
    outages: AtomicBool,
    dice: Mutex<Dice>,
}

/// The store of a world, as one use case sees it.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) shared: Arc<Shared>,
    reader: Reader,
}

type Read<T> = Result<T, StoreError>;

impl SimStore {
    pub(crate) fn new(seed: u64, outages: bool, fault: Option<Fault>) -> Self {
        let shared = Shared {
            memory: MemoryStore::default(),
            post: Post::default(),
            fault,
            outages: AtomicBool::new(outages),
            dice: Mutex::new(Dice::new(seed ^ 0x0570_42e5)),
        };
        Self { shared: Arc::new(shared), reader: Reader::Anybody }
    }

    pub(crate) fn read_by(&self, reader: Reader) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(&self.shared), reader })
    }

    /// From now on it answers.
    pub(crate) fn calm_down(&self) {
        self.shared.outages.store(false, Ordering::Relaxed);
    }

    fn is_bad_luck(&self, one_in: u64) -> bool {
        let dice = || locked(&self.shared.dice).one_in(one_in);
        self.shared.outages.load(Ordering::Relaxed) && dice()
    }

    fn apply(&self, mut changes: Changes) -> Result<Committed, CommitError> {
        if let Some(fault) = self.shared.fault {
            corrupt(fault, &mut changes, &self.shared.memory);
        }
        let (tenant, events) = (changes.tenant, changes.rows_of::<Event>().cloned().collect::<Vec<_>>());
        let committed = self.shared.memory.apply(changes)?;
        self.shared.post.letters().fan_out(tenant, events, self.shared.fault);
        Ok(committed)
    }

    /// A payment as this reader is told of it.
    fn told(&self, payment: Option<Payment>) -> Option<Payment> {
        let payment = payment?;
        let mut state = payment.state().clone();
        let deposit = payment.terms().kind.direction() == Direction::Deposit;
        match (self.shared.fault, self.reader, state.status) {
            (Some(Fault::CancelledAfterSubmission), Reader::Cancel, Status::Processing) if !deposit => {
                state.status = Status::Pending;
            }
            (Some(Fault::RefundsForgotten), Reader::Refund, Status::PartialRefund | Status::Refunded)
                if deposit =>
            {
                (state.status, state.refunded_amount) = (Status::Completed, Minor::ZERO);
            }
            (Some(Fault::ConfirmedTwice), Reader::Hear, Status::Completed) => {
                state.status = Status::Processing;
            }
            (Some(Fault::LateMoneyRefused), Reader::Hear, Status::Expired | Status::Cancelled) => {
                state.status = Status::Failed;
            }
            _ => {}
        }
        Some(Payment::restore(payment.terms().clone(), state))
    }
}

#[async_trait]
impl Commit for SimStore {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        give_way().await;
        if self.is_bad_luck(30) {
            return Err(StoreError::Unavailable("an outage".to_owned()).into());
        }
        if self.is_bad_luck(30) {
            if self.is_bad_luck(2) {
                drop(self.apply(changes));
            }
            give_way().await;
            return Err(StoreError::OutcomeUnknown("the answer was lost".to_owned()).into());
        }
        let committed = self.apply(changes);
        give_way().await;
        committed
    }
}

#[async_trait]
impl PaymentReads for SimStore {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Read<Option<Payment>> {
        if self.is_bad_luck(60) {
            return Err(StoreError::Unavailable("an outage".to_owned()));
        }
        Ok(self.told(self.shared.memory.payment(tenant, id).await?))
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Read<(Vec<Payment>, u64)> {
        self.shared.memory.payments(tenant, filter, page).await
    }

    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Read<Option<Customer>> {
        self.shared.memory.customer(tenant, id).await
    }

    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Read<Option<KeptKey>> {
        self.shared.memory.kept_key(tenant, owner, key, now).await
    }
}

#[async_trait]
impl CrossTenantReads for SimStore {
    async fn find_payment(&self, id: &PaymentId) -> Read<Option<Payment>> {
        if self.is_bad_luck(60) {
            return Err(StoreError::Unavailable("an outage".to_owned()));
        }
        Ok(self.told(self.shared.memory.find_payment(id).await?))
    }

    async fn search_payments(&self, filter: &SearchFilter, page: Page) -> Read<(Vec<Payment>, u64)> {
        self.shared.memory.search_payments(filter, page).await
    }

    async fn timeline(&self, payment: &Payment) -> Read<Timeline> {
        self.shared.memory.timeline(payment).await
    }

    async fn has_received(&self, rail: &str, event_id: &str) -> Read<bool> {
        let heard = self.shared.memory.has_received(rail, event_id).await?;
        Ok(heard && self.shared.fault != Some(Fault::WordUnguarded))
    }

    async fn refunds(&self, tenant: Tenant, id: &PaymentId) -> Read<Vec<Refund>> {
        self.shared.memory.refunds(tenant, id).await
    }

    async fn receipt(&self, id: &str) -> Read<Option<Receipt>> {
        self.shared.memory.receipt(id).await
    }

    async fn receipts(&self, filter: &ReceiptFilter, page: Page) -> Read<(Vec<Receipt>, u64)> {
        self.shared.memory.receipts(filter, page).await
    }
}

#[async_trait]
impl WorkQueue for SimStore {
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Read<Vec<WorkInHand>> {
        let a_day = Duration::from_hours(24);
        let (now, lease) = match self.shared.fault {
            Some(Fault::ClaimedTooEarly) => (now.plus(a_day), lease),
            Some(Fault::LeaseWithoutEnd) => (now, lease + a_day * 3_650),
            _ => (now, lease),
        };
        self.shared.memory.claim(queue, now, lease, limit).await
    }

    async fn due_here(&self, queue: Queue, now: Timestamp, limit: u32) -> Read<Option<DueWork>> {
        self.shared.memory.due_here(queue, now, limit).await
    }

    async fn claim_shown(&self, shown: Vec<WorkInHand>, lease_until: Timestamp) -> Read<Vec<WorkInHand>> {
        self.shared.memory.claim_shown(shown, lease_until).await
    }

    async fn next_due(&self, queue: Queue) -> Read<Option<Timestamp>> {
        self.shared.memory.next_due(queue).await
    }

    async fn queues(&self, now: Timestamp) -> Read<Vec<QueueState>> {
        self.shared.memory.queues(now).await
    }

    async fn woken(&self, queue: Queue, before: Timestamp) {
        self.shared.memory.woken(queue, before).await;
    }

    async fn beat(&self) -> Read<Option<Duration>> {
        self.shared.memory.beat().await
    }

    async fn release_dead(&self) -> Read<()> {
        self.shared.memory.release_dead().await
    }

    async fn release_all(&self) -> Read<()> {
        self.shared.memory.release_all().await
    }
}
