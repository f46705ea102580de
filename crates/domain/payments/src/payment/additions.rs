//! What becomes known of a payment after it was made, without a move: its instructions and its recipient.

use quipu_commit::Changes;
use quipu_kernel::Timestamp;
use quipu_merchants::Direction;

use crate::{
    details::{instructions::Instructions, payout::Payout},
    payment::{
        Due, Payment,
        changes::{self, Changed},
        status::Status,
    },
};

impl Payment {
    /// The new payment with its rail's instructions, and the expiry that the rail sets in place of the route's.
    pub(crate) fn with_issued(mut self, instructions: Instructions, expires_at: Option<Timestamp>) -> Self {
        self.terms.expires_at = self.terms.expires_at.and(expires_at).or(self.terms.expires_at);
        self.state.instructions = instructions;
        self
    }

    /// Whether this is a deposit that has no instructions yet.
    pub fn awaits_instructions(&self) -> bool {
        self.terms.kind.direction() == Direction::Deposit
            && self.status() == Status::Processing
            && self.state.instructions == Instructions::default()
    }

    /// The payment with its instructions. Its status does not change, and there is no event.
    pub(crate) fn with_instructions(
        self,
        instructions: Instructions,
        at: Timestamp,
        due: Option<Due>,
    ) -> Changed {
        let from = self.state.revision;
        let mut payment = self.revised();
        payment.state.instructions = instructions;
        payment.state.updated_at = at.max(payment.state.updated_at);
        let mut changes = Changes::new(payment.terms.tenant, at);
        changes.work.push(changes::next_work(payment.id(), due));
        changes.payment_id = Some(payment.id().clone());
        changes::save(&mut changes, Some(from), payment.clone());
        Changed { payment, changes }
    }

    /// Whether it waits for its recipient to enter the destination.
    pub fn waits_for_recipient(&self) -> bool {
        self.terms.kind.lacks_recipient(self.state.payout.is_some()) && self.status() == Status::Pending
    }

    /// The payment with its recipient. Its status does not change, so there is no event before its next move.
    pub(crate) fn with_recipient(self, payout: Payout, at: Timestamp) -> Self {
        let mut payment = self.revised();
        // It no longer waits for anybody, as one that was created with its recipient.
        payment.terms.expires_at = None;
        payment.state.payout = Some(payout);
        payment.state.updated_at = at.max(payment.state.updated_at);
        payment
    }
}
