//! What a move of the transition table changes.

use quipu_kernel::{Amount, Entropy, OutOfRange, Timestamp};

use crate::{Changes, Due, Failure, Payment, Status, Trigger};

/// The circumstances of a move.
pub struct Happening<'a> {
    /// When.
    pub at: Timestamp,
    /// Where the identifiers of its events come from.
    pub entropy: &'a dyn Entropy,
    /// Why, for a move that ends badly; `EXPIRED` and `PAYOUT_RETURNED` come by themselves.
    pub failure: Option<Failure>,
    /// What is due afterwards.
    pub due: Option<Due>,
    /// How much went back, for a refund.
    pub refund: Option<Amount>,
}

/// Why a trigger changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    /// The table has no such move.
    #[error("a payment that is {} does not move by {trigger:?}", .status.as_str())]
    NoSuchMove {
        /// Where the payment stands.
        status: Status,
        /// What happened.
        trigger: Trigger,
    },
    /// The refund is not what the trigger says: a part, or all that is left.
    #[error("the refund does not fit what is left of the payment")]
    RefundMismatch,
    /// A sum would leave the range of amounts.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl Payment {
    /// What `trigger` changes: the payment one version on, its postings and its events.
    pub fn apply(self, trigger: Trigger, happening: Happening<'_>) -> Result<Changes, NotMoved> {
        unimplemented!()
    }
}
