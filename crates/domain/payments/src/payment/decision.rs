//! Decisions of the operator's staff about a payment, on every rail.

use quipu_kernel::wire_names;
use quipu_merchants::Direction;

use crate::payment::{
    Payment,
    status::{Status, Trigger},
};

wire_names! {
    /// A decision of a person.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ManualDecision {
        /// The withdrawal was handed to the bank.
        Submit = "submit",
        /// The money arrived, late money included.
        Complete = "complete",
        /// The money will not arrive.
        Fail = "fail",
        /// The bank sent the payout back.
        Return = "return",
    }
}

impl ManualDecision {
    /// The triggers that carry the decision out on this payment, one after the other in one commit. Whether the
    /// transition table allows them is found out when they are applied, so a person who repeats a decision is
    /// refused.
    pub fn triggers(self, payment: &Payment) -> &'static [Trigger] {
        let pending = payment.status() == Status::Pending;
        let deposit = payment.terms().kind.direction() == Direction::Deposit;
        match (self, deposit) {
            (Self::Submit, _) => &[Trigger::Submit],
            (Self::Complete, true) if matches!(payment.status(), Status::Expired | Status::Cancelled) => {
                &[Trigger::ArriveLate]
            }
            (Self::Complete, false) if pending => &[Trigger::Submit, Trigger::Confirm],
            (Self::Complete, _) => &[Trigger::Confirm],
            (Self::Fail, _) => &[Trigger::Fail],
            (Self::Return, _) => &[Trigger::Return],
        }
    }
}
