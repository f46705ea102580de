//! Alerts about `redirectpay` deposits that stay unresolved.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, Queue, Record, Work, WorkChange, WorkInHand};
use quipu_kernel::{Clock, PaymentId, StoreError, Timestamp};

use crate::{payment::status::Status, ports::PaymentReads};

/// A call for a person to look at a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The payment.
    pub payment_id: PaymentId,
    /// When it was raised (UTC).
    pub at: Timestamp,
}

impl Record for Alert {}

/// The work to check at `at` whether a payment is still unresolved.
pub(crate) fn alert_at(id: &PaymentId, at: Timestamp) -> WorkChange {
    WorkChange::Put(Work::plain(Queue::REDIRECTPAY_ALERT, id.as_str(), at))
}

/// The use case that raises alerts.
pub struct RaiseAlert {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    clock: Arc<dyn Clock>,
}

impl RaiseAlert {
    /// The use case over these ports.
    pub fn new(commit: Arc<dyn Commit>, reads: Arc<dyn PaymentReads>, clock: Arc<dyn Clock>) -> Self {
        Self { commit, reads, clock }
    }

    /// Checks a payment whose check is due. If it is still unresolved, or was given up so, an alert is written, and answered so
    /// that the caller can report it.
    pub async fn attend(&self, claimed: &WorkInHand) -> Result<Option<Alert>, StoreError> {
        let at = self.clock.now();
        let mut changes = Changes::new(claimed.tenant, at);
        changes.work.push(WorkChange::Done(claimed.clone()));
        let payment = match claimed.subject.parse() {
            Ok(id) => self.reads.payment(claimed.tenant, &id).await?,
            Err(_) => None,
        };
        // After an outage it may be cancelled already, unresolved until the end of its day.
        let unresolved =
            payment.filter(|payment| matches!(payment.status(), Status::Processing | Status::Cancelled));
        let alert = unresolved.map(|payment| Alert { payment_id: payment.id().clone(), at });
        if let Some(alert) = &alert {
            changes.add(alert.clone());
        }
        self.commit.commit(changes).await?;
        Ok(alert)
    }
}
