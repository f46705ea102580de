//! Deletes deliveries that were finished long ago, and the deliveries of removed endpoints. Pending ones
//! stay.

use std::{sync::Arc, time::Duration};

use quipu_kernel::Clock;
use quipu_webhooks::DeliveryQueue;

use super::deletion::Deletion;
use crate::stop_signal::StopSignal;

/// The longest time between two rounds.
const PAUSE: Duration = Duration::from_mins(1);
/// The most deliveries deleted in one commit, few enough that the wait behind it goes unnoticed.
const AT_ONCE: u32 = 1_000;

/// The worker that deletes old deliveries.
pub(crate) struct OldDeliveries {
    pub(crate) queue: Arc<dyn DeliveryQueue>,
    /// Steady.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keep_for: Duration,
}

impl OldDeliveries {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, stop: StopSignal) {
        let pause = PAUSE.min(self.keep_for / 10).max(Duration::from_millis(100));
        let prune = || self.queue.prune(self.clock.now(), self.keep_for, AT_ONCE);
        Deletion { what: "old deliveries", at_once: AT_ONCE, pause }.run(stop, prune).await;
    }
}
