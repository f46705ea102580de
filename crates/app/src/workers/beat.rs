//! Writes this node's heartbeat every two seconds, and releases the work of dead nodes.

use std::{sync::Arc, time::Duration};

use quipu_commit::WorkQueue;

use crate::stop_signal::StopSignal;

/// The time between two heartbeats. A node that misses several of them is taken for dead.
const PAUSE: Duration = Duration::from_secs(2);

/// The worker that writes heartbeats. It must outlast the others: while a node finishes what it has in hand, the
/// others would do the same work a second time if they took this node for dead.
pub(crate) struct Beat {
    pub(crate) queue: Arc<dyn WorkQueue>,
}

impl Beat {
    /// Works until it is told to stop. A heartbeat under way is then given up, so that a database that does not
    /// answer keeps nobody waiting.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        tokio::select! {
            () = self.beat() => {}
            () = stop.given() => {}
        }
    }

    async fn beat(&self) {
        loop {
            if let Err(error) = self.queue.beat().await {
                tracing::warn!(%error, "the heartbeat of this node could not be written");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
