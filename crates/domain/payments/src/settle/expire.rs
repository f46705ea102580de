//! The end of a payment's time.

use quipu_commit::{Decided, WorkInHand, act_on};

use super::{
    SettlePayment,
    again::{RETRY_AFTER, at_expiry},
};
use crate::{
    error::SettleError,
    payment::{Due, DueAction, Payment, apply::TransitionContext, changes},
};

impl SettlePayment {
    /// Expires a payment. If the payment has moved meanwhile, the decision is made again.
    pub(super) async fn expire(&self, claimed: &WorkInHand, found: Payment) -> Result<(), SettleError> {
        let (tenant, id) = (found.terms().tenant, found.id().clone());
        let (mut last, mut is_first) = (found.clone(), true);
        let read = || async { Ok(self.ports.reads.payment(tenant, &id).await?) };
        let decide = |found: Option<Payment>| {
            let is_first = std::mem::replace(&mut is_first, false);
            let Some(payment) = found else { return Ok(Decided::Stay(())) };
            last = payment.clone();
            let now = self.ports.clock.now();
            Ok(match payment.apply(at_expiry(&last), TransitionContext::new(now, &*self.ports.entropy)) {
                Ok(moved) => Decided::change(moved.changes, ()),
                // No such move is allowed. The expiry is then done; what whoever moved the payment since the
                // claim has put in its place stays due.
                Err(_) if is_first => Decided::change(self.done_change(claimed), ()),
                Err(_) => Decided::Stay(()),
            })
        };
        let expired: Result<(), SettleError> = act_on(&*self.ports.commit, Some(found), read, decide).await;
        if let Err(SettleError::Unbookable(_)) = expired {
            let due = Due { at: self.ports.clock.now().plus(RETRY_AFTER), action: DueAction::Expire };
            self.commit_unless_stale(changes::postponed(&last, self.ports.clock.now(), Some(due))).await?;
        }
        expired
    }
}
