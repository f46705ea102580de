//! Carrying out what a person decided about a payment.

use std::sync::Arc;

use quipu_commit::{Commit, CommitError, Refusal};
use quipu_kernel::{Clock, Entropy, PaymentId};
use quipu_merchants::StoreUnavailable;

use crate::{
    decision::ManualDecision,
    error::DecideError,
    moves::{Moves, chain},
    payment::{Failure, Payment},
    ports::MoneyReads,
    recorded::{Recorded, refused},
};

/// How often a decision is made anew because the payment moved under it.
const TRIES: u8 = 8;

/// Decides about payments for the operator.
pub struct DecidePayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn MoneyReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl DecidePayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn MoneyReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Carries a decision out, on whatever rail, and answers the payment as it stands afterwards. `record` is given the
    /// payment before and after, and answers the line of the audit log and the answer that is kept.
    ///
    /// The reason becomes the message of a failure under the code `OPERATOR`.
    pub async fn run(
        &self,
        id: &PaymentId,
        decision: ManualDecision,
        reason: Option<&str>,
        record: &(dyn Fn(&Payment, &Payment) -> Recorded + Sync),
    ) -> Result<Payment, DecideError> {
        for _ in 0..TRIES {
            let found = self.reads.find_payment(id).await?;
            let before = found.ok_or(DecideError::PaymentNotFound)?;
            let failure = match (decision, reason) {
                (ManualDecision::Fail | ManualDecision::Return, reason) => Some(Failure {
                    code: "OPERATOR".to_owned(),
                    message: reason.unwrap_or("decided by the operator").to_owned(),
                }),
                _ => None,
            };
            let how = Moves { failure, ..Moves::new(self.clock.now(), &*self.entropy) };
            let changes = chain(before.clone(), decision.triggers(&before), &how);
            let mut changes = changes.map_err(|error| DecideError::NotAllowed(error.to_string()))?;
            let after = changes.saved::<Payment>().cloned().unwrap_or_else(|| before.clone());
            let (audit, answer) = record(&before, &after);
            changes.add(audit);
            changes.idempotency = answer;
            match self.commit.commit(changes).await {
                Ok(_) => return Ok(after),
                Err(CommitError::Refused(Refusal::Stale)) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(DecideError::Store(StoreUnavailable::Overloaded))
    }
}
