//! Writes this node's heartbeat every two seconds, and releases the work of dead nodes.

use std::{sync::Arc, time::Duration};

use quipu_commit::WorkQueue;

use crate::stop_signal::StopSignal;

/// The time between two heartbeats. A node that misses several of them is taken for dead.
const PAUSE: Duration = Duration::from_secs(2);

/// The worker that writes heartbeats.
pub(crate) struct Beat {
    pub(crate) queue: Arc<dyn WorkQueue>,
}

impl Beat {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        while !stop.is_given() {
            if let Err(error) = self.queue.beat().await {
                tracing::warn!(%error, "the heartbeat of this node could not be written");
            }
            let _ = tokio::time::timeout(PAUSE, stop.given()).await;
        }
    }
}
