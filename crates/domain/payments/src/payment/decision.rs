//! Decisions of the operator's staff about a payment, on every rail.

use quipu_kernel::wire_names;

use crate::payment::{Payment, status::Trigger};

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
        match self {
            Self::Submit => &[Trigger::Submit],
            Self::Complete => payment.completion(),
            Self::Fail => &[Trigger::Fail],
            Self::Return => &[Trigger::Return],
        }
    }
}
