//! Alerts about `redirectpay` deposits that stay unresolved.

use std::sync::Arc;

use quipu_commit::{Changes, Claimed, Commit, CommitError, Queue, Record, Work, WorkChange};
use quipu_kernel::{Clock, PaymentId, Timestamp};
use quipu_merchants::StoreUnavailable;

use crate::{ports::PaymentReads, status::Status};

/// A request that somebody looks at a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Which.
    pub payment_id: PaymentId,
    /// Since when.
    pub at: Timestamp,
}

impl Record for Alert {}

/// The work of checking at `at` whether a payment is still unresolved.
pub(crate) fn alert_at(id: &PaymentId, at: Timestamp) -> WorkChange {
    let subject = id.as_str().to_owned();
    WorkChange::Put(Work { queue: Queue::REDIRECTPAY_ALERT, subject, due: at, action: "" })
}

/// Raises alerts.
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

    /// Looks at a payment whose look is due: where it is still unresolved an alert is written, and answered so that whoever
    /// asked can tell of it.
    pub async fn attend(&self, claimed: &Claimed) -> Result<Option<Alert>, StoreUnavailable> {
        let at = self.clock.now();
        let mut changes = Changes::new(claimed.tenant, at);
        changes.work.push(WorkChange::Done(claimed.clone()));
        let payment = match claimed.subject.parse() {
            Ok(id) => self.reads.payment(claimed.tenant, &id).await?,
            Err(_) => None,
        };
        let unresolved = payment.filter(|payment| payment.status() == Status::Processing);
        let alert = unresolved.map(|payment| Alert { payment_id: payment.id().clone(), at });
        if let Some(alert) = &alert {
            changes.add(alert.clone());
        }
        match self.commit.commit(changes).await {
            Ok(_) => Ok(alert),
            Err(CommitError::Refused(refusal)) => Err(StoreUnavailable::Failed(refusal.to_string())),
            Err(CommitError::Store(error)) => Err(error),
        }
    }
}
