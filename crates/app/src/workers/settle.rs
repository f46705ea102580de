//! Takes payments on whose time has come: hands withdrawals to their rails, asks rails, lets payments expire.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Claimed, Queue, WorkQueue};
use quipu_kernel::{Clock, Timestamp};
use quipu_merchants::StoreUnavailable;
use quipu_payments::SettlePayment;
use tokio::{task::JoinSet, time::Instant};
use tracing::Instrument;

use super::{back_off, log_panic, rest};
use crate::stop_signal::StopSignal;

/// How long a claimed payment belongs to this node. If the node dies, another takes the payment on after that.
const LEASE: Duration = Duration::from_secs(30);
const _: () = assert!(Settle::PATIENCE.as_secs() < LEASE.as_secs(), "a lease must outlast what it covers");
const _: () = assert!(
    Settle::PATIENCE.as_secs() < SettlePayment::RESUBMIT_AFTER.as_secs(),
    "a submission must not be made again while the first may still run"
);

/// Payments claimed in one commit.
const BATCH: usize = 512;
/// Payments attended to at once. They are many, because what they commit at the same time shares one flush to disk.
const AT_ONCE: usize = 2_048;
/// How long to sleep if nothing wakes the worker: what another node committed makes no sound here.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait where something is due that somebody else has claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(250);

/// The worker that settles.
pub(crate) struct Settle {
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) use_case: Arc<SettlePayment>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Settle {
    /// How long attending to a payment may take, from before it was claimed. A call that takes longer is given up while
    /// the lease still holds, so that nobody else attends to the payment meanwhile.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(25);

    /// Works until it is told to stop, then finishes what it has claimed.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let mut attending = JoinSet::new();
        let mut failures = 0;
        while !stop.is_given() {
            match self.round(&mut attending).await {
                Ok(pause) => {
                    failures = 0;
                    rest(&*self.queue, Queue::SETTLEMENT, &*self.clock, pause, &mut stop).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "due payments could not be claimed");
                    let _ = tokio::time::timeout(back_off(failures), stop.given()).await;
                    failures += 1;
                }
            }
        }
        while let Some(ended) = attending.join_next().await {
            log_panic("attending to a payment", &ended);
        }
    }

    /// Claims what is due, as far as there is room, and answers how long nothing else will be.
    async fn round(&self, attending: &mut JoinSet<()>) -> Result<Duration, StoreUnavailable> {
        while let Some(ended) = attending.try_join_next() {
            log_panic("attending to a payment", &ended);
        }
        if attending.len() + BATCH > AT_ONCE
            && let Some(ended) = attending.join_next().await
        {
            log_panic("attending to a payment", &ended);
            return Ok(Duration::ZERO);
        }
        let now = self.clock.now();
        let Some(next) = self.queue.next_due(Queue::SETTLEMENT).await? else { return Ok(LONGEST_SLEEP) };
        if next > now {
            return Ok(next.since(now).min(LONGEST_SLEEP));
        }
        // The lease runs from `now`, however long the claim waits for its turn.
        let until = Instant::now() + Self::PATIENCE;
        let claimed = self.claim(now).await?;
        if claimed.is_empty() {
            return Ok(CLAIMED_ELSEWHERE);
        }
        for work in claimed {
            metrics::histogram!("quipu_due_delay_seconds").record(now.since(work.due).as_secs_f64());
            let span = tracing::info_span!("settle", payment_id = work.subject);
            attending.spawn(attend(Arc::clone(&self.use_case), work, until).instrument(span));
        }
        Ok(Duration::ZERO)
    }

    async fn claim(&self, now: Timestamp) -> Result<Vec<Claimed>, StoreUnavailable> {
        let limit = u32::try_from(BATCH).unwrap_or(u32::MAX);
        self.queue.claim(Queue::SETTLEMENT, now, now.plus(LEASE), limit).await
    }
}

/// What fails here stays claimed until its lease ends, and is then due again.
async fn attend(settle: Arc<SettlePayment>, work: Claimed, until: Instant) {
    let id = &work.subject;
    if Instant::now() >= until {
        tracing::warn!(payment = id, "a due payment was claimed too slowly");
        return;
    }
    // Boxed, because it is large and a task of its own.
    match tokio::time::timeout_at(until, Box::pin(settle.attend(&work))).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(payment = id, %error, "a due payment was not taken on"),
        Err(_) => tracing::warn!(payment = id, "a due payment took too long"),
    }
}
