//! The turns of work that waits for rows which somebody else has locked, on a server.
//!
//! Whoever waits for a lock holds a connection. Turns bound how many do, so that heartbeats and look-ups always find
//! a connection. Work whose rows are free needs no such turn: it is tried first with little patience, and only if it
//! met a lock it waits for a turn. Until it gets one it tries again now and then, since the lock may be gone.

use std::{sync::Arc, time::Duration};

use quipu_kernel::MerchantId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

use crate::merchant_queues::MerchantQueues;

/// How long work that met a lock waits for a turn before it looks whether the lock is gone.
const LOOK: Duration = Duration::from_secs(1);

/// How long a try waits for a locked row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as its connection says.
    Full,
    /// [`Times::brief_lock`](crate::settings::Times::brief_lock).
    Brief,
}

/// The turns of those who share connections.
#[derive(Clone)]
pub(crate) struct Turns {
    full: Arc<Semaphore>,
    brief: Arc<Semaphore>,
}

impl Turns {
    /// So many tries with full patience at a time, and so many brief ones.
    pub(crate) fn new(full: usize, brief: usize) -> Self {
        Self { full: Arc::new(Semaphore::new(full)), brief: Arc::new(Semaphore::new(brief)) }
    }

    /// Waits for the turn of a try, which lasts until the permit is dropped. Work that `met_a_lock` in the try before
    /// may wait for it in this one.
    pub(crate) async fn next(&self, met_a_lock: bool) -> (Patience, Option<OwnedSemaphorePermit>) {
        let full = Arc::clone(&self.full).acquire_owned();
        let brief = async {
            if met_a_lock {
                sleep(LOOK).await;
            }
            Arc::clone(&self.brief).acquire_owned().await
        };
        tokio::select! {
            biased;
            turn = full, if met_a_lock => (Patience::Full, turn.ok()),
            turn = brief => (Patience::Brief, turn.ok()),
        }
    }
}

/// Whose write may wait for locked rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A change of what belongs to a merchant: endpoints, keys, routes.
    Merchant(MerchantId),
    /// What an attempt to deliver changes of its endpoint.
    Recorder,
}

/// The turns of one write.
pub(crate) struct TurnsOfWrite {
    /// The queue in which it waits before its tries, behind others of its merchant.
    pub(crate) own: Option<Arc<Semaphore>>,
    pub(crate) tries: Turns,
}

/// The turns of all writes that no lane commits.
pub(crate) struct LockTurns {
    of_merchants: Turns,
    of_the_recorder: Turns,
    /// The turns among the writes of each merchant.
    own: MerchantQueues,
}

impl LockTurns {
    /// Turns over so many connections: at most half of them wait for locks of merchants and a quarter for the recorder,
    /// and as many are in use by brief tries.
    pub(crate) fn over(connections: usize) -> Self {
        let turns = |part: usize| Turns::new((connections / part).max(1), (connections / part).max(1));
        Self { of_merchants: turns(2), of_the_recorder: turns(4), own: MerchantQueues::default() }
    }

    /// The turns of a write.
    pub(crate) fn of(&self, waiter: Waiter) -> TurnsOfWrite {
        let (own, tries) = match waiter {
            Waiter::Merchant(merchant) => (Some(self.own.queue(merchant)), &self.of_merchants),
            Waiter::Recorder => (None, &self.of_the_recorder),
        };
        TurnsOfWrite { own, tries: tries.clone() }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_merchant_waits_behind_its_own_writes_and_the_recorder_behind_none() {
        let turns = LockTurns::over(8);
        let own = |id| turns.of(Waiter::Merchant(MerchantId(id))).own.expect("a queue");
        let (one, other) = (own(1), own(2));
        assert!(Arc::ptr_eq(&one, &own(1)) && !Arc::ptr_eq(&one, &other));
        assert_eq!(one.available_permits(), 1);
        let full = |waiter| turns.of(waiter).tries.full.available_permits();
        assert_eq!((full(Waiter::Merchant(MerchantId(1))), full(Waiter::Recorder)), (4, 2));
        assert!(turns.of(Waiter::Recorder).own.is_none());
    }

    #[tokio::test]
    async fn who_met_a_lock_waits_for_a_turn_and_looks_again_meanwhile() {
        let turns = Turns::new(1, 1);
        let (patience, first) = turns.next(false).await;
        assert_eq!(patience, Patience::Brief);
        assert!(turns.next(false).now_or_never().is_none(), "another one tries");
        drop(first);
        let (patience, waiting) = turns.next(true).await;
        assert_eq!(patience, Patience::Full);
        assert_eq!(turns.next(false).await.0, Patience::Brief, "whose rows are free does not wait behind it");
        assert!(turns.next(true).now_or_never().is_none());
        assert_eq!(turns.next(true).await.0, Patience::Brief, "the lock may be gone");
        drop(waiting);
        assert_eq!(turns.next(true).await.0, Patience::Full);
    }
}
