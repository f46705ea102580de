//! Cancelling a withdrawal that was not submitted yet.

use std::sync::Arc;

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Clock, Entropy, PaymentId, Tenant};

use crate::{
    error::CancelError,
    payment::{Failure, Payment, apply::TransitionContext, status::Trigger},
    ports::PaymentReads,
};

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

    /// Cancels a payment of the tenant and answers it as it is afterwards. The reason (at most 500
    /// characters, checked by the caller) becomes the message of its failure, under the code `CANCELLED`.
    ///
    /// If a worker submits the same payment at the same time, exactly one of the two succeeds: the other's
    /// commit is stale.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        reason: Option<String>,
    ) -> Result<Payment, CancelError> {
        let failure = reason.map(|message| Failure { code: Failure::CANCELLED.to_owned(), message });
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
