//! Carries out a person's decision about a payment.

use std::sync::Arc;

use quipu_commit::Commit;
use quipu_kernel::{Clock, Entropy, PaymentId};

use crate::{
    act::{Decided, act},
    error::DecideError,
    payment::{Failure, Payment, apply::Happening, changes::Changed, decision::ManualDecision, moves::chain},
    ports::CrossTenantReads,
    staff::recorded::Recorded,
};

/// The use case for the operator's decisions about payments.
pub struct DecidePayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn CrossTenantReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl DecidePayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn CrossTenantReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Carries a decision out, on whatever rail, and answers the payment as it is afterwards. `record` is
    /// given the payment before and after, and answers the line of the audit log and the kept answer.
    ///
    /// The reason becomes the message of a failure under the code `OPERATOR`.
    pub async fn run(
        &self,
        id: &PaymentId,
        decision: ManualDecision,
        reason: Option<&str>,
        record: &(dyn Fn(&Payment, &Payment) -> Recorded + Sync),
    ) -> Result<Payment, DecideError> {
        let failure = match decision {
            ManualDecision::Fail | ManualDecision::Return => Some(Failure {
                code: Failure::OPERATOR.to_owned(),
                message: reason.unwrap_or("decided by the operator").to_owned(),
            }),
            ManualDecision::Submit | ManualDecision::Complete => None,
        };
        let read = || async { self.reads.find_payment(id).await?.ok_or(DecideError::PaymentNotFound) };
        let decide = |before: Payment| {
            let now = self.clock.now();
            let happening = Happening { failure: failure.clone(), ..Happening::new(now, &*self.entropy) };
            let moved = chain(before.clone(), decision.triggers(&before), &happening);
            let moved = moved.map_err(|error| DecideError::NotAllowed(error.to_string()))?;
            let Changed { payment: after, mut changes } = moved;
            let (audit, answer) = record(&before, &after);
            changes.add(audit);
            changes.idempotency = answer;
            Ok(Decided::change(changes, after))
        };
        act(&*self.commit, None, read, decide).await
    }
}
