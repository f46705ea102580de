//! How many test events are sent at once. Each keeps a socket for as long as its receiver is silent, also when the
//! client that asked for it has gone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use quipu_kernel::{MerchantId, locked};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The most test events that are sent at once.
pub(crate) const TEST_EVENTS: usize = 8;
/// The most of one merchant, so that its silent receivers keep nobody else waiting.
const OF_A_MERCHANT: usize = 2;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns of test events.
pub(crate) struct TestEvents {
    of_all: Arc<Semaphore>,
    of_merchants: Mutex<HashMap<MerchantId, Arc<Semaphore>>>,
}

/// A test event may be sent for as long as this is kept.
pub(crate) struct Turn {
    _of_merchant: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for TestEvents {
    fn default() -> Self {
        Self { of_all: Arc::new(Semaphore::new(TEST_EVENTS)), of_merchants: Mutex::default() }
    }
}

impl TestEvents {
    /// Waits for the turn of a merchant; `None` if it does not come in time.
    pub(crate) async fn turn(&self, merchant: MerchantId) -> Option<Turn> {
        let of_merchant = self.of_merchant(merchant);
        let both = async {
            let of_merchant = of_merchant.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.of_all).acquire_owned().await.ok()?;
            Some(Turn { _of_merchant: of_merchant, _of_all: of_all })
        };
        timeout(PATIENCE, both).await.ok().flatten()
    }

    fn of_merchant(&self, merchant: MerchantId) -> Arc<Semaphore> {
        let mut merchants = self.merchants();
        merchants.retain(|id, turns| *id == merchant || Arc::strong_count(turns) > 1);
        let turns = merchants.entry(merchant).or_insert_with(|| Arc::new(Semaphore::new(OF_A_MERCHANT)));
        Arc::clone(turns)
    }

    fn merchants(&self) -> MutexGuard<'_, HashMap<MerchantId, Arc<Semaphore>>> {
        locked(&self.of_merchants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_merchant_has_a_quarter_of_the_turns_and_all_together_have_all() {
        let test_events = TestEvents::default();
        let take = async |merchant: i64, most: usize| {
            let mut taken = Vec::new();
            while taken.len() < most {
                let Some(turn) = test_events.turn(MerchantId(merchant)).await else { break };
                taken.push(turn);
            }
            taken
        };
        let mut first = take(1, 9).await;
        assert_eq!(first.len(), 2);
        let others = [take(2, 9).await, take(3, 9).await, take(4, 9).await];
        assert_eq!((others.each_ref().map(Vec::len), take(5, 1).await.len()), ([2; 3], 0));
        first.pop();
        assert_eq!(take(5, 2).await.len(), 1);
        drop((first, others));
        assert_eq!((take(5, 9).await.len(), take(1, 9).await.len()), (2, 2));
        assert!(test_events.merchants().len() <= 2, "nobody is remembered for ever");
    }
}
