//! Deletes expired keys: the nonces of signatures, and idempotency keys with their kept answers after a day.

use std::{sync::Arc, time::Duration};

use quipu_commit::UsedKeys;
use quipu_kernel::Clock;

use super::rounds::delete_old;
use crate::stop_signal::StopSignal;

/// The time between two rounds.
const PAUSE: Duration = Duration::from_mins(1);
/// How much the clocks of nodes may differ. A nonce is deleted for all nodes, even for one whose clock is
/// slow and which would still accept its signature.
const CLOCKS_APART: Duration = Duration::from_mins(5);
/// The most rows of each kind deleted in one commit, few enough that the wait behind it goes unnoticed.
const AT_ONCE: u32 = 2_000;

/// The worker that deletes expired keys.
pub(crate) struct ExpiredKeys {
    pub(crate) keys: Arc<dyn UsedKeys>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ExpiredKeys {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, stop: StopSignal) {
        let delete = || self.keys.delete_expired(self.clock.now().minus(CLOCKS_APART), AT_ONCE);
        delete_old("expired nonces and answers", (AT_ONCE, PAUSE), stop, delete).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use quipu_kernel::{StoreError, Timestamp};

    use super::{super::Workers, *};

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            NOON
        }
    }

    /// Notes the time before which rows must have expired, and tells when it was asked.
    struct Asked(Mutex<Option<tokio::sync::oneshot::Sender<Timestamp>>>);

    #[async_trait]
    impl UsedKeys for Asked {
        async fn delete_expired(&self, expired: Timestamp, _: u32) -> Result<u64, StoreError> {
            if let Some(asked) = self.0.lock().expect("no test panics with the lock").take() {
                asked.send(expired).expect("the test waits");
            }
            Ok(0)
        }
    }

    #[tokio::test]
    async fn what_a_lagging_node_may_still_need_is_kept() {
        let (asked, answer) = tokio::sync::oneshot::channel();
        let worker = ExpiredKeys { keys: Arc::new(Asked(Mutex::new(Some(asked)))), clock: Arc::new(Noon) };
        let mut workers = Workers::new();
        workers.start(|stop| worker.run(stop));
        let expired = answer.await.expect("a round");
        workers.stop().await;
        assert_eq!(NOON.since(expired), Duration::from_mins(5));
    }
}
