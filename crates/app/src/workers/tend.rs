//! Does the due work on tickets: resolved ones close, thumbnails are made, unused uploads are deleted.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use quipu_commit::{Claimed, Queue, WorkQueue};
use quipu_kernel::Clock;
use quipu_merchants::StoreUnavailable;
use quipu_tickets::TicketOffice;

use super::{back_off, rest};
use crate::stop_signal::StopSignal;

/// How long claimed work belongs to this node. Work that fails is tried again after that.
const LEASE: Duration = Duration::from_mins(1);
const _: () = assert!(Tend::PATIENCE.as_secs() < LEASE.as_secs(), "a lease must outlast what it covers");
/// How long to sleep if nothing wakes the worker.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait if work is due that another node has claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(250);
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
    /// How long one piece of work may take. Work that takes longer is given up while the lease still holds.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(25);

    /// Works until it is told to stop, then finishes what it has claimed.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let mut failures = 0;
        while !stop.is_given() {
            match self.round().await {
                Ok(pause) => {
                    failures = 0;
                    rest(&*self.queue, self.kind, &*self.clock, pause, &mut stop).await;
                }
                Err(error) => {
                    tracing::warn!(%error, queue = self.kind.0, "due work could not be claimed");
                    let _ = tokio::time::timeout(back_off(failures), stop.given()).await;
                    failures += 1;
                }
            }
        }
    }

    /// Does the due work, and answers how long it will be until more is due.
    async fn round(&self) -> Result<Duration, StoreUnavailable> {
        let now = self.clock.now();
        let Some(next) = self.queue.next_due(self.kind).await? else { return Ok(LONGEST_SLEEP) };
        if next > now {
            return Ok(next.since(now).min(LONGEST_SLEEP));
        }
        let at_once = if self.kind == Queue::THUMBNAILS { 1 } else { AT_ONCE };
        let claimed = self.queue.claim(self.kind, now, now.plus(LEASE), at_once).await?;
        if claimed.is_empty() {
            return Ok(CLAIMED_ELSEWHERE);
        }
        join_all(claimed.iter().map(|work| self.attend(work))).await;
        Ok(Duration::ZERO)
    }

    async fn attend(&self, work: &Claimed) {
        let (queue, subject) = (work.queue.0, &work.subject);
        match tokio::time::timeout(Self::PATIENCE, Box::pin(self.office.attend(work))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(queue, subject, %error, "work on a ticket was not done"),
            Err(_) => tracing::warn!(queue, subject, "work on a ticket took too long"),
        }
    }
}
