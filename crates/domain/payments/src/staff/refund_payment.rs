//! The use case that pays a deposit back.

use std::sync::Arc;

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Amount, Clock, Entropy, Fields, PaymentId, Problems, timed_id};
use serde_json::Value;

use crate::{
    error::{DecideError, NotAllowed},
    payment::{
        MAX_REASON, Payment,
        apply::TransitionContext,
        changes::Changed,
        refund::{NotRefundable, Refund},
        status::Trigger,
    },
    ports::CrossTenantReads,
    staff::recorded::Recorded,
};

/// The most characters of a ticket's identifier.
const MAX_TICKET: usize = 64;

/// A person's order to refund a payment.
#[derive(Debug, Clone)]
pub struct RefundOrder {
    /// Amount in minor units.
    pub amount: Amount,
    /// Reason in words, at most 500 characters.
    pub reason: Option<String>,
    /// The ticket in which it was asked for.
    pub ticket_id: Option<String>,
}

impl RefundOrder {
    /// Reads what staff wrote.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let amount = fields.required_amount("amount", &mut problems);
        let mut text = |name, max| fields.optional_text(name, max, &mut problems);
        let (reason, ticket_id) = (text("reason", MAX_REASON), text("ticket_id", MAX_TICKET));
        let order = amount.map(|amount| Self { amount, reason, ticket_id });
        problems.admit(order)
    }
}

/// The use case for the operator's refunds.
pub struct RefundPayment {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn CrossTenantReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl RefundPayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn CrossTenantReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Refunds `order.amount` of a payment. `record` is given the payment before, the payment after and the
    /// refund, and answers the line of the audit log and the kept answer; both are in the refund's own
    /// commit.
    ///
    /// However many refunds run at the same time, their sum never exceeds what was paid: each is decided on
    /// the payment as the one before left it.
    pub async fn run(
        &self,
        id: &PaymentId,
        order: &RefundOrder,
        record: &(dyn Fn(&Payment, &Payment, &Refund) -> Recorded + Sync),
    ) -> Result<(Payment, Refund), DecideError> {
        let read = || async { self.reads.find_payment(id).await?.ok_or(DecideError::PaymentNotFound) };
        let decide = |payment: Payment| {
            payment.require_refundable(order.amount).map_err(|refusal| match refusal {
                NotRefundable::Exceeds { .. } => DecideError::ExceedsPayment(refusal),
                other => NotAllowed::from(other).into(),
            })?;
            let at = self.clock.now().max(payment.state().updated_at);
            let refund = Refund {
                refund_id: timed_id("rfd", at, &*self.entropy, 16),
                payment_id: payment.id().clone(),
                amount: order.amount,
                reason: order.reason.clone(),
                ticket_id: order.ticket_id.clone(),
                created_at: at,
            };
            let before = payment.clone();
            let context = TransitionContext::new(at, &*self.entropy);
            let moved = payment.apply(Trigger::Refund(order.amount), context);
            let Changed { payment: after, mut changes } = moved.map_err(NotAllowed::from)?;
            changes.add(refund.clone());
            record(&before, &after, &refund).add_to(&mut changes);
            Ok(Decided::change(changes, (after, refund)))
        };
        act(&*self.commit, read, decide).await
    }
}
