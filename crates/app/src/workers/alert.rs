//! Raises alerts about `redirectpay` deposits that stay unresolved: a warning in the log, and a count.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use quipu_commit::{Claimed, Queue, WorkQueue};
use quipu_kernel::Clock;
use quipu_merchants::StoreUnavailable;
use quipu_payments::RaiseAlert;

use super::{back_off, rest};
use crate::{metrics::ALERTS, stop_signal::StopSignal};

/// How long a claimed check belongs to this node.
const LEASE: Duration = Duration::from_mins(1);
/// How long a check may take: less than it belongs to this node.
const PATIENCE: Duration = Duration::from_secs(25);
/// The most checks that are claimed at once.
const AT_ONCE: u32 = 64;
/// How long to sleep if nothing wakes the worker.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait if work is due that another node has claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(250);

/// The worker that raises alerts.
pub(crate) struct Alert {
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) use_case: Arc<RaiseAlert>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Alert {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let mut failures = 0;
        while !stop.is_given() {
            let pause = match self.round().await {
                Ok(pause) => {
                    failures = 0;
                    pause
                }
                Err(error) => {
                    tracing::warn!(%error, "due alerts could not be looked at");
                    failures += 1;
                    back_off(failures)
                }
            };
            rest(&*self.queue, Queue::REDIRECTPAY_ALERT, &*self.clock, pause, &mut stop).await;
        }
    }

    async fn round(&self) -> Result<Duration, StoreUnavailable> {
        let now = self.clock.now();
        let Some(next) = self.queue.next_due(Queue::REDIRECTPAY_ALERT).await? else {
            return Ok(LONGEST_SLEEP);
        };
        if next > now {
            return Ok(next.since(now).min(LONGEST_SLEEP));
        }
        let until = now.plus(LEASE);
        let claimed = self.queue.claim(Queue::REDIRECTPAY_ALERT, now, until, AT_ONCE).await?;
        if claimed.is_empty() {
            return Ok(CLAIMED_ELSEWHERE);
        }
        join_all(claimed.iter().map(|work| self.attend(work))).await;
        Ok(Duration::ZERO)
    }

    /// Checks one payment. If that fails, it is due again when its lease ends, and delays no other.
    async fn attend(&self, work: &Claimed) {
        let subject = &work.subject;
        match tokio::time::timeout(PATIENCE, self.use_case.attend(work)).await {
            Ok(Ok(Some(alert))) => {
                metrics::counter!(ALERTS).increment(1);
                tracing::warn!(
                    payment = %alert.payment_id,
                    "a payment by redirectpay is still unresolved; it will be cancelled if it stays so"
                );
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::warn!(subject, %error, "an alert was not raised"),
            Err(_) => tracing::warn!(subject, "an alert took too long"),
        }
    }
}
