//! How many test events are sent at once. Each keeps a socket for as long as its receiver is silent, also when the
//! client that asked for it has gone.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use quipu_kernel::{MerchantId, locked};
use quipu_webhooks::EndpointId;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The most test events that are sent at once.
pub(crate) const TEST_EVENTS: usize = 8;
/// The most of one merchant, so that its silent receivers leave turns to others.
const OF_A_MERCHANT: usize = 3;
/// The most to one endpoint, so that a silent one leaves turns to the merchant's others.
const TO_AN_ENDPOINT: usize = 1;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns of test events.
pub(crate) struct TestEvents {
    all: Arc<Semaphore>,
    merchants: TurnsOf<MerchantId>,
    endpoints: TurnsOf<EndpointId>,
}

/// A test event may be sent for as long as this is kept.
pub(crate) struct Turn {
    _permits: [OwnedSemaphorePermit; 3],
}

impl Default for TestEvents {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(TEST_EVENTS)),
            merchants: TurnsOf::new(OF_A_MERCHANT),
            endpoints: TurnsOf::new(TO_AN_ENDPOINT),
        }
    }
}

impl TestEvents {
    /// Waits for the turn of a merchant's endpoint; `None` if it does not come in time.
    pub(crate) async fn turn(&self, merchant: MerchantId, endpoint: &EndpointId) -> Option<Turn> {
        let to_endpoint = self.endpoints.get(endpoint);
        let of_merchant = self.merchants.get(&merchant);
        let turn = async {
            // Whoever waits for an endpoint holds nothing that others need.
            let to_endpoint = to_endpoint.acquire_owned().await.ok()?;
            let of_merchant = of_merchant.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(Turn { _permits: [to_endpoint, of_merchant, of_all] })
        };
        timeout(PATIENCE, turn).await.ok().flatten()
    }
}

/// The turns of each that has one or waits for one.
struct TurnsOf<K> {
    most: usize,
    known: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl<K: Clone + Eq + Hash> TurnsOf<K> {
    fn new(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    fn get(&self, key: &K) -> Arc<Semaphore> {
        let mut known = self.known();
        known.retain(|other, turns| other == key || Arc::strong_count(turns) > 1);
        Arc::clone(known.entry(key.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.most))))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
        locked(&self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(number: usize) -> EndpointId {
        EndpointId::restore(format!("whk_{number}"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_endpoint_leaves_turns_to_its_merchant_and_a_merchant_to_others() {
        let test_events = TestEvents::default();
        let take = async |merchant: i64, endpoints: std::ops::Range<usize>| {
            let mut taken = Vec::new();
            for number in endpoints {
                let Some(turn) = test_events.turn(MerchantId(merchant), &endpoint(number)).await else {
                    break;
                };
                taken.push(turn);
            }
            taken
        };
        let mut first = take(1, 0..1).await;
        assert_eq!(take(1, 0..1).await.len(), 0, "to the same endpoint");
        first.extend(take(1, 1..9).await);
        assert_eq!(first.len(), 3);
        let others = [take(2, 10..19).await, take(3, 20..29).await];
        assert_eq!((others.each_ref().map(Vec::len), take(4, 30..31).await.len()), ([3, 2], 0));
        first.pop();
        assert_eq!(take(4, 30..31).await.len(), 1);
        drop((first, others));
        assert_eq!(take(4, 30..39).await.len(), 3);
        assert_eq!(take(4, 30..31).await.len(), 1);
        assert!(test_events.merchants.known().len() <= 1, "nobody is remembered for ever");
        assert!(test_events.endpoints.known().len() <= 1, "nobody is remembered for ever");
    }
}
