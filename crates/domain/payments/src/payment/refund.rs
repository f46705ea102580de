//! Paying a deposit back, wholly or in parts.

use quipu_commit::Record;
use quipu_kernel::{Amount, Minor, PaymentId, Timestamp};
use quipu_merchants::Direction;
use serde::Serialize;

use crate::payment::{Payment, status::Status};

/// A refund of a deposit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refund {
    /// Its identifier: `rfd_<13 digits of Unix milliseconds>_<16 base-32 characters>`.
    pub refund_id: String,
    /// The identifier of the deposit.
    pub payment_id: PaymentId,
    /// Amount in minor units.
    pub amount: Amount,
    /// Reason in words, at most 500 characters.
    pub reason: Option<String>,
    /// The ticket in which it was asked for.
    pub ticket_id: Option<String>,
    /// When it was made (UTC).
    pub created_at: Timestamp,
}

impl Record for Refund {}

/// Why a payment is not refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRefundable {
    /// Only a deposit that completed can be paid back.
    #[error("a payment with status {} cannot be refunded", .0.as_str())]
    NotCompleted(Status),
    /// A withdrawal is returned by its bank and not refunded.
    #[error("a withdrawal cannot be refunded")]
    Withdrawal,
    /// The sum of refunds would exceed what was paid.
    #[error("only {left} minor units of the payment are left to refund")]
    Exceeds {
        /// The amount that can still be refunded, in minor units.
        left: Minor,
    },
}

impl Payment {
    /// The amount that can still be refunded, in minor units.
    pub fn refundable(&self) -> Minor {
        let left = self.paid_amount().minor().checked_sub(self.state().refunded_amount);
        left.unwrap_or_else(|_| unreachable!("no sum of refunds is below zero"))
    }

    /// Says why `amount` cannot be refunded, if it cannot.
    pub fn require_refundable(&self, amount: Amount) -> Result<(), NotRefundable> {
        if self.terms().kind.direction() == Direction::Withdrawal {
            return Err(NotRefundable::Withdrawal);
        }
        let left = self.refundable();
        match self.status() {
            Status::Completed | Status::PartialRefund => {}
            Status::Refunded => return Err(NotRefundable::Exceeds { left }),
            other => return Err(NotRefundable::NotCompleted(other)),
        }
        if amount.minor() <= left { Ok(()) } else { Err(NotRefundable::Exceeds { left }) }
    }
}
