//! Cancelling a withdrawal that was not submitted yet.

use std::sync::Arc;

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Clock, Entropy, Fields, PaymentId, Problems, Tenant};
use serde_json::Value;

use crate::{
    error::CancelError,
    payment::{
        MAX_REASON, Payment,
        apply::TransitionContext,
        failure::{Failure, FailureCode},
        status::Trigger,
    },
    ports::PaymentReads,
};

/// A merchant's reason for cancelling, at most 500 characters, if it gave one.
#[derive(Debug, Clone, Default)]
pub struct CancelReason(Option<String>);

impl CancelReason {
    /// Reads what the merchant wrote.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let reason = fields.optional_long_text("reason", MAX_REASON, &mut problems);
        problems.into_result().map(|()| Self(reason))
    }
}

/// Cancels payments for merchants.
pub struct CancelPayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

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

    /// Cancels a payment of the tenant and answers it as it is afterwards. The reason becomes the message of its
    /// failure, under the code `CANCELLED`.
    ///
    /// If a worker submits the same payment at the same time, exactly one of the two succeeds: the other's
    /// commit is stale.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        reason: CancelReason,
    ) -> Result<Payment, CancelError> {
        let failure = reason.0.map(|message| Failure::new(FailureCode::Cancelled, message));
        let read = || async { self.reads.payment(tenant, id).await?.ok_or(CancelError::NotFound) };
        let decide = |payment: Payment| {
            let status = payment.status();
            let mut context = TransitionContext::new(self.clock.now(), &*self.entropy);
            context.failure.clone_from(&failure);
            let moved = payment.apply(Trigger::Cancel, context);
            let moved = moved.map_err(|_| CancelError::AlreadyProcessed(status))?;
            Ok(Decided::change(moved.changes, moved.payment))
        };
        act(&*self.commit, read, decide).await
    }
}
