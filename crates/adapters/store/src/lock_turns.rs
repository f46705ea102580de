//! The turns of writes that may wait for rows which somebody else has locked, on a server.
//!
//! Such a write holds a connection for short queries while it waits. Turns bound how many do, so that heartbeats and
//! look-ups always find a connection, and give each merchant one at a time, so that one with locked rows delays no other.

use std::sync::Arc;

use quipu_kernel::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::one_each::OneEach;

/// Whose write may wait for locked rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A change of what belongs to a merchant: endpoints, keys, routes.
    Merchant(MerchantId),
    /// What an attempt to deliver changes of its endpoint.
    Recorder,
}

/// The turns of all writes.
pub(crate) struct LockTurns {
    of_merchants: Arc<Semaphore>,
    of_the_recorder: Arc<Semaphore>,
    /// The turns among the writes of each merchant.
    own: OneEach,
}

impl LockTurns {
    /// Turns over so many connections: half of them for merchants, a quarter for the recorder.
    pub(crate) fn over(connections: usize) -> Self {
        let turns = |part: usize| Arc::new(Semaphore::new((connections / part).max(1)));
        Self { of_merchants: turns(2), of_the_recorder: turns(4), own: OneEach::default() }
    }

    /// The queues in which a write waits for its turn, one after the other.
    pub(crate) fn queues(&self, waiter: Waiter) -> Vec<Arc<Semaphore>> {
        match waiter {
            Waiter::Merchant(merchant) => vec![self.own.queue(merchant), Arc::clone(&self.of_merchants)],
            Waiter::Recorder => vec![Arc::clone(&self.of_the_recorder)],
        }
    }
}

/// Waits for the turn of a write; `None` if it `is_over` before.
pub(crate) async fn turn(
    queues: Vec<Arc<Semaphore>>,
    is_over: impl Fn() -> bool,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let mut held = Vec::with_capacity(queues.len());
    for queue in queues {
        held.push(queue.acquire_owned().await.ok()?);
        if is_over() {
            return None;
        }
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn taken(turns: &LockTurns, waiter: Waiter) -> Option<Vec<OwnedSemaphorePermit>> {
        turn(turns.queues(waiter), || false).now_or_never().flatten()
    }

    #[test]
    fn each_merchant_has_one_turn_at_a_time_and_the_recorder_has_its_own() {
        let (turns, merchant) = (LockTurns::over(8), |id| Waiter::Merchant(MerchantId(id)));
        let first = taken(&turns, merchant(1)).expect("free");
        assert!(taken(&turns, merchant(1)).is_none());
        let others: Vec<_> = (2..5).map(|id| taken(&turns, merchant(id)).expect("free")).collect();
        assert!(taken(&turns, merchant(5)).is_none(), "half of the connections wait");
        let notes: Vec<_> = (0..2).map(|_| taken(&turns, Waiter::Recorder).expect("free")).collect();
        assert!(taken(&turns, Waiter::Recorder).is_none());
        drop(first);
        assert!(taken(&turns, merchant(5)).is_some());
        drop((others, notes));
    }

    #[test]
    fn whose_caller_has_gone_takes_no_turn_of_others() {
        let turns = LockTurns::over(2);
        let queues = turns.queues(Waiter::Merchant(MerchantId(1)));
        assert!(turn(queues, || true).now_or_never().expect("at once").is_none());
        assert!(taken(&turns, Waiter::Merchant(MerchantId(2))).is_some());
    }
}
