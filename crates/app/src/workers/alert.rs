//! Raises alerts about `redirectpay` deposits that stay unresolved: a warning in the log, and a count.

use std::sync::Arc;

use quipu_commit::{Queue, WorkInHand, WorkQueue};
use quipu_kernel::Clock;
use quipu_payments::RaiseAlert;

use super::rounds::{PATIENCE, Rounds};
use crate::{metrics::ALERTS, stop_signal::StopSignal};

/// The most checks that are claimed at once.
const AT_ONCE: u32 = 64;

/// The worker that raises alerts.
pub(crate) struct Alert {
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) use_case: Arc<RaiseAlert>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Alert {
    /// Works until it is told to stop, then finishes what it has claimed.
    pub(crate) async fn run(self, stop: StopSignal) {
        let rounds = Rounds::of(&self.queue, Queue::REDIRECTPAY_ALERT, &self.clock);
        rounds.attend(AT_ONCE, stop, |work| self.attend(work)).await;
    }

    /// Checks one payment. If that fails, it is due again when its lease ends, and delays no other.
    async fn attend(&self, work: WorkInHand) {
        let subject = &work.subject;
        match tokio::time::timeout(PATIENCE, self.use_case.attend(&work)).await {
            Ok(Ok(Some(alert))) => {
                metrics::counter!(ALERTS).increment(1);
                tracing::warn!(
                    payment_id = %alert.payment_id,
                    "a payment by redirectpay is still unresolved; it will be cancelled if it stays so"
                );
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::warn!(subject, %error, "an alert was not raised"),
            Err(_) => tracing::warn!(subject, "an alert took too long"),
        }
    }
}
