//! The statuses of a payment and the only table of moves between them.

use std::cmp::Ordering;

use quipu_kernel::{Amount, Minor, wire_names};
use quipu_merchants::{Direction, Method};

use crate::details::kind::PaymentType;

wire_names! {
    /// The status of a payment (docs/API.md, "Statuses").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Status {
        /// A withdrawal that was accepted and not yet submitted.
        Pending = "pending",
        /// A deposit that waits for its money, or a withdrawal that may be on its way.
        Processing = "processing",
        /// The money arrived.
        Completed = "completed",
        /// The money will not arrive.
        Failed = "failed",
        /// The payment was given up.
        Cancelled = "cancelled",
        /// The payer did not pay in time, or nobody named the recipient of a hosted withdrawal in time.
        Expired = "expired",
        /// All of the money was refunded or returned.
        Refunded = "refunded",
        /// A part of the money was refunded.
        PartialRefund = "partial_refund",
    }
}

impl Status {
    /// The status a new payment begins in.
    pub const fn first(kind: PaymentType) -> Self {
        match kind.direction() {
            Direction::Deposit => Self::Processing,
            Direction::Withdrawal => Self::Pending,
        }
    }

    /// Whether a payment that moves to this status frees its `merchant_reference` for another one.
    pub const fn frees_reference(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Expired)
    }

    /// The complete transition table: the status to which `trigger` moves a payment in this status. `None`
    /// means that the move does not exist, and nothing changes.
    #[expect(
        clippy::match_same_arms,
        reason = "a row of the table stands for itself; merged rows would hide moves"
    )]
    pub fn after(self, about: Situation, trigger: Trigger) -> Option<Self> {
        use Direction::{Deposit, Withdrawal};
        let next = match (about.kind.direction(), self, trigger) {
            (Deposit, Self::Processing, Trigger::Confirm) => Self::Completed,
            (Deposit, Self::Processing, Trigger::Fail) => Self::Failed,
            (Deposit, Self::Processing, Trigger::Expire) if about.method != Method::RedirectPay => {
                Self::Expired
            }
            (Deposit, Self::Processing, Trigger::GiveUp) if about.method == Method::RedirectPay => {
                Self::Cancelled
            }
            (Deposit, Self::Expired | Self::Cancelled, Trigger::ArriveLate) => Self::Completed,
            (Deposit, Self::Completed | Self::PartialRefund, Trigger::Refund(amount)) => {
                match amount.minor().cmp(&about.refundable) {
                    Ordering::Less => Self::PartialRefund,
                    Ordering::Equal => Self::Refunded,
                    Ordering::Greater => return None,
                }
            }
            (Withdrawal, Self::Pending, Trigger::Cancel) => Self::Cancelled,
            (Withdrawal, Self::Pending, Trigger::Submit) if about.has_recipient => Self::Processing,
            (Withdrawal, Self::Pending | Self::Processing, Trigger::Fail) => Self::Failed,
            (Withdrawal, Self::Pending, Trigger::Expire)
                if about.kind.lacks_recipient(about.has_recipient) =>
            {
                Self::Expired
            }
            (Withdrawal, Self::Processing, Trigger::Confirm) => Self::Completed,
            (Withdrawal, Self::Completed, Trigger::Return) => Self::Refunded,
            _ => return None,
        };
        Some(next)
    }
}

/// The facts about a payment, besides its status, that the table needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// The kind of payment.
    pub kind: PaymentType,
    /// The payment method.
    pub method: Method,
    /// Whether a withdrawal's recipient is known.
    pub has_recipient: bool,
    /// The amount of a deposit that was not refunded, in minor units.
    pub refundable: Minor,
}

/// The trigger of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The merchant cancels the payment.
    Cancel,
    /// A worker or an operator is about to hand a withdrawal to its rail.
    Submit,
    /// The rail or an operator confirms the full amount, or an operator accepts another amount that arrived.
    Confirm,
    /// The rail or an operator reports that it failed.
    Fail,
    /// The time of the payment is over.
    Expire,
    /// A `redirectpay` deposit stayed unresolved for too long.
    GiveUp,
    /// Money arrives for a deposit that had ended.
    ArriveLate,
    /// The bank sends a completed withdrawal back.
    Return,
    /// This amount of a deposit is refunded: a part of what is left, or all of it.
    Refund(Amount),
}

impl Trigger {
    /// Every trigger but refunds, for tests over the whole table.
    pub const ALL: [Self; 8] = [
        Self::Cancel,
        Self::Submit,
        Self::Confirm,
        Self::Fail,
        Self::Expire,
        Self::GiveUp,
        Self::ArriveLate,
        Self::Return,
    ];

    /// The participle of the move, for a refusal: "a payment with status failed cannot be …".
    pub(crate) const fn participle(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Submit => "submitted",
            Self::Confirm => "completed",
            Self::Fail => "failed",
            Self::Expire => "expired",
            Self::GiveUp => "given up",
            Self::ArriveLate => "completed late",
            Self::Return => "returned",
            Self::Refund(_) => "refunded",
        }
    }
}
