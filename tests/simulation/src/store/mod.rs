//! The in-memory store: the reference store with every read that use cases make of a store.
//!
//! Every call gives way before it begins and after it is done, as a call to a database does: others go on in
//! between, and whoever called may be gone by then.

mod all_payments;
mod check;
mod deliveries;
mod delivery_ports;
mod ledger;
mod payments;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{
    Aggregate, Changes, Commit, CommitError, Committed, Contents, DueWork, Memory, Queue, QueueState,
    UsedKeys, WorkInHand, WorkQueue,
};
use quipu_kernel::{PaymentId, StoreError, Tenant, Timestamp, locked};
use quipu_payments::Payment;

use self::deliveries::{Deliveries, Node};
use crate::turns::give_way;

/// The in-memory store. Clones share what it holds, and are the same node.
#[derive(Clone, Default)]
pub struct MemoryStore {
    memory: Memory,
    /// Whose each payment is.
    homes: Arc<Mutex<HashMap<PaymentId, Tenant>>>,
    deliveries: Arc<Mutex<Deliveries>>,
    /// As which node it takes deliveries into its hands.
    node: Node,
}

impl MemoryStore {
    /// The same store as one more node has it.
    pub fn another_node(&self) -> Self {
        let node = self.deliveries().another_node();
        Self { node, ..self.clone() }
    }

    /// The contents of the store.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.memory.contents()
    }

    /// Applies a change at once, and owes its events to those who hear them.
    pub fn apply(&self, changes: Changes) -> Result<Committed, CommitError> {
        let made = changes.saves.iter().filter(|save| save.from.is_none());
        let made = made.filter(|save| save.aggregate == Aggregate::PAYMENT);
        let made: Vec<PaymentId> = made.filter_map(|save| save.id.parse().ok()).collect();
        let tenant = changes.tenant;
        let (mut deliveries, mut contents) = (self.deliveries(), self.contents());
        let before = contents.rows.len();
        let committed = contents.apply(changes)?;
        deliveries.fan_out(&contents.rows[before..]);
        self.homes().extend(made.into_iter().map(|id| (id, tenant)));
        Ok(committed)
    }

    fn homes(&self) -> MutexGuard<'_, HashMap<PaymentId, Tenant>> {
        locked(&self.homes)
    }

    /// To be locked before what else it holds, if both are.
    fn deliveries(&self) -> MutexGuard<'_, Deliveries> {
        locked(&self.deliveries)
    }

    /// A payment of whichever tenant.
    pub fn payment_of(&self, id: &PaymentId) -> Option<Payment> {
        let tenant = *self.homes().get(id)?;
        self.contents().saved::<Payment>(Aggregate::PAYMENT, tenant, id.as_str()).cloned()
    }
}

#[async_trait]
impl Commit for MemoryStore {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        give_way().await;
        let committed = self.apply(changes);
        give_way().await;
        committed
    }
}

#[async_trait]
impl WorkQueue for MemoryStore {
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        give_way().await;
        let claimed = self.memory.claim(queue, now, lease, limit).await;
        give_way().await;
        claimed
    }

    async fn due_here(
        &self,
        queue: Queue,
        now: Timestamp,
        limit: u32,
    ) -> Result<Option<DueWork>, StoreError> {
        give_way().await;
        self.memory.due_here(queue, now, limit).await
    }

    async fn claim_shown(
        &self,
        shown: Vec<WorkInHand>,
        lease_until: Timestamp,
    ) -> Result<Vec<WorkInHand>, StoreError> {
        give_way().await;
        let claimed = self.memory.claim_shown(shown, lease_until).await;
        give_way().await;
        claimed
    }

    async fn next_due(&self, queue: Queue) -> Result<Option<Timestamp>, StoreError> {
        give_way().await;
        self.memory.next_due(queue).await
    }

    async fn queues(&self, now: Timestamp) -> Result<Vec<QueueState>, StoreError> {
        give_way().await;
        self.memory.queues(now).await
    }

    async fn woken(&self, queue: Queue, before: Timestamp) {
        self.memory.woken(queue, before).await;
    }

    async fn beat(&self) -> Result<Option<Duration>, StoreError> {
        self.deliveries().beat(self.node);
        self.memory.beat().await
    }

    async fn release_dead(&self) -> Result<(), StoreError> {
        self.memory.release_dead().await
    }

    async fn release_all(&self) -> Result<(), StoreError> {
        self.memory.release_all().await
    }
}

#[async_trait]
impl UsedKeys for MemoryStore {
    async fn delete_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.memory.delete_expired(now, limit).await
    }
}
