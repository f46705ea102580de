//! The rounds of a worker that does the due work of one queue: how it claims work, and how long it rests.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Claimed, Queue, WorkQueue};
use quipu_kernel::Clock;
use quipu_merchants::StoreUnavailable;
use tokio::time::timeout;

use super::back_off;
use crate::stop_signal::StopSignal;

/// How long one piece of work may take. Work that takes longer is given up while its lease still holds, so that no
/// other node does it meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);
/// How long claimed work belongs to this node, unless the worker has a lease of its own. Work that fails is
/// tried again after that.
pub(super) const LEASE: Duration = Duration::from_mins(1);
const _: () = assert!(PATIENCE.as_secs() < LEASE.as_secs(), "a lease must outlast what it covers");
/// How long to sleep if nothing wakes the worker: a commit of another node may not wake it.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait if work is due that another node has claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(250);

/// The rounds of one worker over its queue.
pub(super) struct Rounds {
    queue: Arc<dyn WorkQueue>,
    kind: Queue,
    clock: Arc<dyn Clock>,
    /// Failures since the last round that succeeded.
    failures: u32,
}

/// The result of a claim.
pub(super) enum Found {
    /// Work that belongs to this node until its lease ends.
    Work(Vec<Claimed>),
    /// There is nothing to do for this time.
    Nothing(Duration),
}

impl Rounds {
    pub(super) fn of(queue: &Arc<dyn WorkQueue>, kind: Queue, clock: &Arc<dyn Clock>) -> Self {
        Self { queue: Arc::clone(queue), kind, clock: Arc::clone(clock), failures: 0 }
    }

    /// Claims at most `limit` pieces of due work for the time of `lease`. It counts from the beginning of this call,
    /// however long the claim waits for its turn.
    pub(super) async fn claim(&self, lease: Duration, limit: u32) -> Result<Found, StoreUnavailable> {
        let now = self.clock.now();
        let Some(next) = self.queue.next_due(self.kind).await? else {
            return Ok(Found::Nothing(LONGEST_SLEEP));
        };
        if next > now {
            return Ok(Found::Nothing(next.since(now).min(LONGEST_SLEEP)));
        }
        let claimed = self.queue.claim(self.kind, now, now.plus(lease), limit).await?;
        Ok(if claimed.is_empty() { Found::Nothing(CLAIMED_ELSEWHERE) } else { Found::Work(claimed) })
    }

    /// Rests after a round. A round that succeeded says how long there is nothing to do; new work that is due
    /// earlier ends this rest. After a failure the rest is longer each time, and new work does not end it, since
    /// the next claim would most likely fail as well. The signal to stop ends every rest.
    pub(super) async fn rest(&mut self, round: Result<Duration, StoreUnavailable>, stop: &mut StopSignal) {
        match round {
            Ok(pause) => {
                self.failures = 0;
                let before = self.clock.now().plus(pause);
                tokio::select! {
                    () = stop.given() => {}
                    () = self.queue.woken(self.kind, before) => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, queue = self.kind.0, "due work could not be claimed");
                let _ = timeout(back_off(self.failures), stop.given()).await;
                self.failures += 1;
            }
        }
    }
}
