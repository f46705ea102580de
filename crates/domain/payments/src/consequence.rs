//! The effect of a rail's event on the payment that it names, in whatever order events arrive and however
//! often.
//!
//! The table below covers every case. An event moves the payment, or repeats what is known, or contradicts
//! it. A contradiction is never dropped: it becomes a receipt, which waits for a person.

use quipu_merchants::Direction;

use crate::{
    history::receipt::ParkReason,
    payment::{
        Payment,
        status::{Status, Trigger},
    },
    rail::event::{RailEvent, RailEventKind},
};

/// The effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// The payment makes these moves, one after the other, in one commit.
    Move(&'static [Trigger]),
    /// The event repeats what is known, or no longer matters; nothing changes.
    Known,
    /// The event contradicts the state of the payment; a person must look at it.
    Park(ParkReason),
}

impl Consequence {
    /// The effect of `event` on the payment in its current state.
    pub(crate) fn of(payment: &Payment, event: &RailEvent) -> Self {
        let by_table = Self::by_status(payment, event.kind);
        match by_table {
            // A repeat with another amount is no repeat.
            Self::Move(_) | Self::Known => mismatch(payment, event).map_or(by_table, Self::Park),
            Self::Park(_) => by_table,
        }
    }

    #[expect(
        clippy::match_same_arms,
        reason = "a row of the table stands for itself; merged rows would hide moves"
    )]
    fn by_status(payment: &Payment, kind: RailEventKind) -> Self {
        use RailEventKind::{Completed, Failed, Returned};
        use Status as S;
        match (payment.terms().kind.direction(), kind, payment.status()) {
            (Direction::Deposit, Completed, S::Processing | S::Expired | S::Cancelled) => {
                Self::Move(payment.completion())
            }
            (Direction::Deposit, Completed, S::Completed | S::Refunded | S::PartialRefund) => Self::Known,
            (Direction::Deposit, Failed, S::Processing) => Self::Move(&[Trigger::Fail]),
            (Direction::Deposit, Failed, S::Failed | S::Expired | S::Cancelled) => Self::Known,

            // It was paid all the same, whoever submitted it.
            (Direction::Withdrawal, Completed, S::Pending) if payment.situation().has_recipient => {
                Self::Move(payment.completion())
            }
            (Direction::Withdrawal, Completed, S::Processing) => Self::Move(payment.completion()),
            (Direction::Withdrawal, Completed, S::Completed | S::Refunded) => Self::Known,
            (Direction::Withdrawal, Failed, S::Pending | S::Processing) => Self::Move(&[Trigger::Fail]),
            (Direction::Withdrawal, Failed, S::Failed | S::Cancelled | S::Expired | S::Refunded) => {
                Self::Known
            }
            // What came back was paid out first; the word of that is still on its way.
            (Direction::Withdrawal, Returned, S::Processing) => {
                Self::Move(&[Trigger::Confirm, Trigger::Return])
            }
            (Direction::Withdrawal, Returned, S::Completed) => Self::Move(&[Trigger::Return]),
            (Direction::Withdrawal, Returned, S::Refunded) => Self::Known,

            // Money for what had failed, a failure of what was paid, a return of what never left.
            _ => Self::Park(ParkReason::Contradiction),
        }
    }
}

/// Why amount or currency of the event do not match the payment.
fn mismatch(payment: &Payment, event: &RailEvent) -> Option<ParkReason> {
    let terms = payment.terms();
    if event.currency.is_some_and(|currency| currency != terms.currency) {
        return Some(ParkReason::CurrencyMismatch);
    }
    // Once a person has booked what arrived, any other amount is money beside it.
    let (expected, otherwise) = match payment.state().received_amount {
        Some(booked) => (booked, ParkReason::Contradiction),
        None => (terms.amount, ParkReason::AmountMismatch),
    };
    event.amount.is_some_and(|amount| amount != expected).then_some(otherwise)
}
