//! Paying a deposit back.

use std::sync::Arc;

use quipu_commit::Commit;
use quipu_kernel::{Amount, Clock, Entropy, PaymentId, base32};

use crate::{
    act::{Decided, act},
    error::DecideError,
    moves::{Moves, chain},
    payment::Payment,
    ports::MoneyReads,
    recorded::Recorded,
    refund::{NotRefundable, Refund},
};

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct RefundOrder {
    /// How much.
    pub amount: Amount,
    /// Why, at most 500 characters.
    pub reason: Option<String>,
    /// The ticket that asked for it.
    pub ticket_id: Option<String>,
}

/// Refunds payments for the operator.
pub struct RefundPayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn MoneyReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl RefundPayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn MoneyReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Refunds `order.amount` of a payment. `record` is given the payment before, the payment after and the refund, and
    /// answers the line of the audit log and the answer that is kept; both are in the refund's own commit.
    ///
    /// Whatever runs at once, the sum of refunds never exceeds what was paid: each is decided on the payment as the one
    /// before left it.
    pub async fn run(
        &self,
        id: &PaymentId,
        order: &RefundOrder,
        record: &(dyn Fn(&Payment, &Payment, &Refund) -> Recorded + Sync),
    ) -> Result<(Payment, Refund), DecideError> {
        let read = || async { self.reads.find_payment(id).await?.ok_or(DecideError::PaymentNotFound) };
        let decide = |payment: Payment| {
            let trigger = payment.refund_trigger(order.amount).map_err(|refusal| match refusal {
                NotRefundable::Exceeds { .. } => DecideError::ExceedsPayment(refusal),
                other => DecideError::NotAllowed(other.to_string()),
            })?;
            let at = self.clock.now();
            let refund = Refund {
                refund_id: format!("rfd_{:013}_{}", at.millis(), base32(&*self.entropy, 16)),
                payment_id: payment.id().clone(),
                amount: order.amount,
                reason: order.reason.clone(),
                ticket_id: order.ticket_id.clone(),
                created_at: at,
            };
            let before = payment.clone();
            let how = Moves { refund: Some(order.amount), ..Moves::new(at, &*self.entropy) };
            let changes = chain(payment, &[trigger], &how);
            let mut changes = changes.map_err(|error| DecideError::NotAllowed(error.to_string()))?;
            let after = changes.saved::<Payment>().cloned().unwrap_or_else(|| before.clone());
            let (audit, answer) = record(&before, &after, &refund);
            changes.add(refund.clone());
            changes.add(audit);
            changes.idempotency = answer;
            Ok(Decided::change(changes, (after, refund)))
        };
        act(&*self.commit, None, read, decide).await
    }
}
