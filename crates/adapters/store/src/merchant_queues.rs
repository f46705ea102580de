//! Turns, one at a time for each merchant.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use quipu_kernel::{MerchantId, locked};
use tokio::sync::Semaphore;

/// With more merchants than this in memory, those without a turn are forgotten.
const MANY: usize = 1_000;

/// The turns of all merchants.
#[derive(Default)]
pub(crate) struct MerchantQueues(Mutex<HashMap<MerchantId, Weak<Semaphore>>>);

impl MerchantQueues {
    /// The queue in which a merchant waits for its turn.
    pub(crate) fn queue(&self, merchant: MerchantId) -> Arc<Semaphore> {
        let mut queues = locked(&self.0);
        if let Some(queue) = queues.get(&merchant).and_then(Weak::upgrade) {
            return queue;
        }
        if queues.len() >= MANY {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(Semaphore::new(1));
        queues.insert(merchant, Arc::downgrade(&queue));
        queue
    }
}
