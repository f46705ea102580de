//! Cancelling a withdrawal that was not submitted yet.

use std::sync::Arc;

use quipu_commit::{Commit, CommitError, Refusal};
use quipu_kernel::{Clock, Entropy, PaymentId, Tenant};
use quipu_merchants::StoreUnavailable;

use crate::{
    apply::Happening,
    error::CancelError,
    payment::{Failure, Payment},
    ports::PaymentReads,
    status::Trigger,
};

/// Cancels payments for merchants.
pub struct CancelPayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

/// How often a decision is made anew because the payment moved under it. Every repeat means that its status changed, and
/// no payment changes its status more often than this while it can still be cancelled.
const TRIES: u8 = 4;

impl CancelPayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Cancels a payment of the tenant and answers it as it stands afterwards. The reason (at most 500 characters, judged
    /// by the caller) becomes the message of its failure, under the code `CANCELLED`.
    ///
    /// Where a worker submits the same payment at the same time, exactly one of the two wins: the other's commit is stale.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        reason: Option<String>,
    ) -> Result<Payment, CancelError> {
        let failure = reason.map(|message| Failure { code: "CANCELLED".to_owned(), message });
        for _ in 0..TRIES {
            let payment = self.reads.payment(tenant, id).await?.ok_or(CancelError::NotFound)?;
            let status = payment.status();
            let mut happening = Happening::new(self.clock.now(), &*self.entropy);
            happening.failure.clone_from(&failure);
            let changes = payment.apply(Trigger::Cancel, happening);
            let changes = changes.map_err(|_| CancelError::AlreadyProcessed(status))?;
            match self.commit.commit(changes).await {
                Ok(committed) => {
                    let payment = committed.into_saved::<Payment>();
                    return Ok(*payment.ok_or_else(|| failed("a cancelled payment is missing"))?);
                }
                Err(CommitError::Refused(Refusal::Stale)) => {}
                Err(CommitError::Refused(refusal)) => return Err(failed(&refusal.to_string())),
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(failed("the payment kept changing"))
    }
}

fn failed(what: &str) -> CancelError {
    CancelError::Store(StoreUnavailable::Failed(what.to_owned()))
}
