//! Does the due work on tickets: resolved ones close, thumbnails are made, unused uploads are deleted.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use quipu_commit::{Queue, WorkInHand, WorkQueue};
use quipu_kernel::{Clock, StoreError};
use quipu_tickets::TicketOffice;

use super::rounds::{Found, LEASE, PATIENCE, Rounds};
use crate::stop_signal::StopSignal;

/// The most pieces of work that are claimed and done at once. Thumbnails are made one at a time in any case.
const AT_ONCE: u32 = 32;

/// The worker of one queue of tickets.
pub(crate) struct Tend {
    pub(crate) kind: Queue,
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) office: Arc<TicketOffice>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Tend {
    /// Works until it is told to stop, then finishes what it has claimed.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let mut rounds = Rounds::of(&self.queue, self.kind, &self.clock);
        while !stop.is_given() {
            let made = self.round(&rounds).await;
            rounds.rest(made, &mut stop).await;
        }
    }

    /// Does the due work, and answers how long there is nothing to do.
    async fn round(&self, rounds: &Rounds) -> Result<Duration, StoreError> {
        let at_once = if self.kind == Queue::THUMBNAILS { 1 } else { AT_ONCE };
        match rounds.claim(LEASE, at_once).await? {
            Found::Nothing(pause) => Ok(pause),
            Found::Work(claimed) => {
                join_all(claimed.iter().map(|work| self.attend(work))).await;
                Ok(Duration::ZERO)
            }
        }
    }

    async fn attend(&self, work: &WorkInHand) {
        let (queue, subject) = (work.queue.0, &work.subject);
        match tokio::time::timeout(PATIENCE, Box::pin(self.office.attend(work))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(queue, subject, %error, "work on a ticket was not done"),
            Err(_) => tracing::warn!(queue, subject, "work on a ticket took too long"),
        }
    }
}
