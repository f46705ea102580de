//! Deletes deliveries that were finished long ago, and the deliveries of removed endpoints. Pending ones
//! stay.

use std::{sync::Arc, time::Duration};

use quipu_kernel::Clock;
use quipu_webhooks::DeliveryQueue;

use crate::stop_signal::StopSignal;

/// The time between two rounds: a fraction of the time for which deliveries are kept, and a minute at most.
const PAUSE: Duration = Duration::from_mins(1);
/// The most deliveries deleted in one commit, few enough that the wait behind it goes unnoticed.
const AT_ONCE: u32 = 1_000;

/// The worker that deletes old deliveries.
pub(crate) struct OldDeliveries {
    pub(crate) queue: Arc<dyn DeliveryQueue>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keep_for: Duration,
}

impl OldDeliveries {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let pause = PAUSE.min(self.keep_for / 10).max(Duration::from_millis(100));
        while !stop.is_given() {
            let more = match self.queue.prune(self.clock.now(), self.keep_for, AT_ONCE).await {
                Ok(dropped) => dropped >= u64::from(AT_ONCE),
                Err(error) => {
                    tracing::warn!(%error, "old deliveries were not dropped");
                    false
                }
            };
            if !more {
                let _ = tokio::time::timeout(pause, stop.given()).await;
            }
        }
    }
}
