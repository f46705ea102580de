//! Does the due work on tickets: resolved ones close, thumbnails are made, unused uploads are deleted.

use std::sync::Arc;

use quipu_commit::{Queue, WorkInHand, WorkQueue};
use quipu_kernel::Clock;
use quipu_tickets::{THUMBNAIL_TIME, TicketOffice};

use super::rounds::{PATIENCE, Rounds};
use crate::stop_signal::StopSignal;

/// The most pieces of work that are claimed and done at once. Thumbnails are made one at a time in any case.
const AT_ONCE: u32 = 32;
const _: () = assert!(THUMBNAIL_TIME.as_secs() < PATIENCE.as_secs(), "an attempt must have time to end");

/// The worker of one queue of tickets.
pub(crate) struct Tend {
    pub(crate) kind: Queue,
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) office: Arc<TicketOffice>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Tend {
    /// Works until it is told to stop, then finishes what it has claimed.
    pub(crate) async fn run(self, stop: StopSignal) {
        let at_once = if self.kind == Queue::THUMBNAILS { 1 } else { AT_ONCE };
        let rounds = Rounds::of(&self.queue, self.kind, &self.clock);
        rounds.attend(at_once, stop, |work| self.attend(work)).await;
    }

    async fn attend(&self, work: WorkInHand) {
        let (queue, subject) = (work.queue.0, &work.subject);
        match tokio::time::timeout(PATIENCE, Box::pin(self.office.attend(&work))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(queue, subject, %error, "work on a ticket failed; it is tried again");
            }
            Err(_) => tracing::warn!(queue, subject, "work on a ticket took too long; it is tried again"),
        }
    }
}
