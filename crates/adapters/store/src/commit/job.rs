//! A change on its way to a lane.

use std::sync::Arc;

use quipu_kernel::{CustomerId, PaymentId};
use quipu_merchants::StoreUnavailable;
use quipu_payments::{Changes, CommitError, Committed, CustomerClaim, Payment, PaymentChange};
use tokio::sync::oneshot;
use uuid::{NoContext, Uuid};

use super::standing::Standing;
use crate::{document::Document, error::Fault};

/// What a waiting caller is told.
pub(crate) type Outcome = Result<Committed, CommitError>;

/// A change with all that can be worked out before its turn comes, so that the lane does not have to.
pub(crate) struct Job {
    /// What is to change.
    pub(crate) changes: Changes,
    /// The text of the payment's `document`, empty if there is no payment.
    pub(crate) document: String,
    /// An identifier for each transaction.
    pub(crate) transaction_ids: Vec<String>,
    /// Whether it may still be begun.
    pub(crate) standing: Arc<Standing>,
    /// Who waits for the outcome. The caller may have gone away, which changes nothing.
    pub(crate) reply: oneshot::Sender<Outcome>,
}

impl Job {
    /// Prepares `changes`.
    pub(crate) fn new(changes: Changes, reply: oneshot::Sender<Outcome>) -> Self {
        let document = payment_of(&changes).map(Document::text_of).unwrap_or_default();
        let seconds = u64::try_from(changes.at.seconds()).unwrap_or(0);
        let nanos = u32::try_from(changes.at.millis().rem_euclid(1000)).unwrap_or(0) * 1_000_000;
        let at = uuid::Timestamp::from_unix(NoContext, seconds, nanos);
        let transaction_ids = changes.transactions.iter().map(|_| Uuid::new_v7(at).to_string()).collect();
        Self { changes, document, transaction_ids, standing: Arc::default(), reply }
    }

    /// The same job, whose time runs with `standing`.
    pub(crate) fn within(self, standing: Arc<Standing>) -> Self {
        Self { standing, ..self }
    }

    /// The job, if there is still time for it and its caller has not withdrawn it. Nothing of another one happens.
    pub(crate) fn begun(self) -> Option<Self> {
        if self.standing.begin() {
            return Some(self);
        }
        metrics::counter!("quipu_commit_too_late_total").increment(1);
        let _gone = self.reply.send(Err(StoreUnavailable::from(Fault::TooLate).into()));
        None
    }

    /// The payment as it stands afterwards.
    pub(crate) fn payment(&self) -> Option<&Payment> {
        payment_of(&self.changes)
    }

    /// Takes another number for the customer it may make: a customer of another node may have the first.
    pub(crate) const fn renumber_customer(&mut self) {
        if let Some(CustomerClaim::MatchOrCreate(CustomerId(number))) = &mut self.changes.customer {
            *number += 1;
        }
    }

    /// The identifier of that payment.
    pub(crate) fn payment_id(&self) -> Option<&PaymentId> {
        self.payment().map(Payment::id)
    }
}

fn payment_of(changes: &Changes) -> Option<&Payment> {
    match changes.payment.as_ref()? {
        PaymentChange::Created(payment) | PaymentChange::Moved { payment, .. } => Some(payment),
    }
}
