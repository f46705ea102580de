//! Carries out a person's decision about a payment.

use std::sync::Arc;

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Clock, Entropy, Fields, PaymentId, Problems};
use serde_json::Value;

use crate::{
    error::{DecideError, NotAllowed},
    payment::{
        MAX_REASON, Payment,
        apply::TransitionContext,
        changes::Changed,
        decision::ManualDecision,
        failure::{Failure, FailureCode},
        moves::chain,
    },
    ports::CrossTenantReads,
    staff::recorded::Recorded,
};

/// The most characters of a bank's or provider's reference.
const MAX_REFERENCE: usize = 255;

/// What a person says about a decision.
#[derive(Debug, Clone, Default)]
pub struct DecisionNote {
    /// Reason in words, at most 500 characters.
    pub reason: Option<String>,
    /// The bank's or provider's own reference, at most 255 characters, for the audit log.
    pub rail_reference: Option<String>,
}

impl DecisionNote {
    /// Reads what staff wrote.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let mut text = |name, max| fields.optional_text(name, max, &mut problems);
        let note = Self {
            reason: text("reason", MAX_REASON),
            rail_reference: text("rail_reference", MAX_REFERENCE),
        };
        problems.into_result().map(|()| note)
    }
}

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
            ManualDecision::Fail | ManualDecision::Return => {
                Some(Failure::new(FailureCode::Operator, reason.unwrap_or("decided by the operator")))
            }
            ManualDecision::Submit | ManualDecision::Complete => None,
        };
        let read = || async { self.reads.find_payment(id).await?.ok_or(DecideError::PaymentNotFound) };
        let decide = |before: Payment| {
            let now = self.clock.now();
            let context =
                TransitionContext { failure: failure.clone(), ..TransitionContext::new(now, &*self.entropy) };
            let moved = chain(before.clone(), decision.triggers(&before), &context);
            let Changed { payment: after, mut changes } = moved.map_err(NotAllowed::from)?;
            record(&before, &after).add_to(&mut changes);
            Ok(Decided::change(changes, after))
        };
        act(&*self.commit, read, decide).await
    }
}
