//! Drops what has outlived its purpose: nonces out of their window, kept answers after a day.

use std::{sync::Arc, time::Duration};

use quipu_kernel::Clock;
use quipu_payments::DueQueue;

use super::StopSignal;

/// Between two rounds.
const PAUSE: Duration = Duration::from_mins(1);
/// Rows of each kind in one commit, few enough that nobody notices the wait behind it.
const AT_ONCE: u32 = 2_000;

/// The worker that prunes.
pub(crate) struct Prune {
    pub(crate) queue: Arc<dyn DueQueue>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Prune {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        while !stop.is_given() {
            let more = match self.queue.prune(self.clock.now(), AT_ONCE).await {
                Ok(dropped) => dropped >= u64::from(AT_ONCE),
                Err(error) => {
                    tracing::warn!(%error, "expired nonces and answers were not dropped");
                    false
                }
            };
            if !more {
                let _ = tokio::time::timeout(PAUSE, stop.given()).await;
            }
        }
    }
}
