//! Deletes expired keys: the nonces of signatures, and idempotency keys with their kept answers after a day.

use std::{sync::Arc, time::Duration};

use quipu_commit::UsedKeys;
use quipu_kernel::Clock;

use super::deletion::Deletion;
use crate::stop_signal::StopSignal;

/// The time between two rounds.
const PAUSE: Duration = Duration::from_mins(1);
/// The most rows of each kind deleted in one commit, few enough that the wait behind it goes unnoticed.
const AT_ONCE: u32 = 2_000;

/// The worker that deletes expired keys. A key that it deletes early could be used twice.
pub(crate) struct ExpiredKeys {
    pub(crate) keys: Arc<dyn UsedKeys>,
    /// Steady.
    pub(crate) clock: Arc<dyn Clock>,
}

impl ExpiredKeys {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, stop: StopSignal) {
        let delete = || self.keys.delete_expired(self.clock.now(), AT_ONCE);
        let what = "expired nonces and answers";
        Deletion { what, at_once: AT_ONCE, pause: PAUSE }.run(stop, delete).await;
    }
}
