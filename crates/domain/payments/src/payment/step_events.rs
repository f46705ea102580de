//! The events of each step of a payment.

use quipu_merchants::Direction;
use quipu_webhooks::EventName;

use crate::payment::{Payment, status::Status};

/// The events of the step that a payment has just taken, including its creation.
pub(crate) fn of(payment: &Payment) -> &'static [EventName] {
    of_step(payment.state().version, payment.status(), payment.terms().kind.direction())
}

/// The events of the step to this version and status.
pub(crate) const fn of_step(version: i32, status: Status, direction: Direction) -> &'static [EventName] {
    use EventName::{
        PaymentCancelled, PaymentCompleted, PaymentCreated, PaymentFailed, PaymentProcessing,
        PaymentRefunded, PayoutCompleted, PayoutCreated, PayoutFailed,
    };
    match (version, status, direction) {
        (1, _, Direction::Deposit) => &[PaymentCreated],
        (1, _, Direction::Withdrawal) => &[PaymentCreated, PayoutCreated],
        // No payment returns to `pending`; a table that let it would have to name the event.
        (_, Status::Pending, _) => &[],
        (_, Status::Processing, _) => &[PaymentProcessing],
        (_, Status::Completed, Direction::Deposit) => &[PaymentCompleted],
        (_, Status::Completed, Direction::Withdrawal) => &[PaymentCompleted, PayoutCompleted],
        (_, Status::Failed | Status::Expired, Direction::Deposit) => &[PaymentFailed],
        (_, Status::Failed | Status::Expired, Direction::Withdrawal) => &[PaymentFailed, PayoutFailed],
        (_, Status::Cancelled, Direction::Deposit) => &[PaymentCancelled],
        (_, Status::Cancelled, Direction::Withdrawal) => &[PaymentCancelled, PayoutFailed],
        (_, Status::Refunded | Status::PartialRefund, Direction::Deposit) => &[PaymentRefunded],
        (_, Status::Refunded | Status::PartialRefund, Direction::Withdrawal) => {
            &[PaymentRefunded, PayoutFailed]
        }
    }
}
