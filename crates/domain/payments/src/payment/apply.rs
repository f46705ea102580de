//! The changes that a move of the transition table makes.

use quipu_commit::Changes;
use quipu_kernel::{Entropy, Minor, OutOfRange, Timestamp};
use quipu_ledger::Transaction;
use quipu_merchants::Direction;

use crate::payment::{
    Due, Payment, State, Terms,
    changes::{self, BeforeChange, Changed},
    failure::{Failure, FailureCode},
    payload,
    status::{Status, Trigger},
};

/// The circumstances of a move, or of several that happen together.
#[derive(Clone)]
pub struct TransitionContext<'a> {
    /// When it happened (UTC).
    pub at: Timestamp,
    /// The source of its events' identifiers.
    pub entropy: &'a dyn Entropy,
    /// The reason of a move that ends badly. `EXPIRED` is set without it, and so is `PAYOUT_RETURNED`, but the
    /// message of that is taken from here.
    pub failure: Option<Failure>,
    /// The next thing to do with the payment afterwards.
    pub due: Option<Due>,
    /// The rail's own identifier of the payment, if the rail reported the move and named one.
    pub provider_reference: Option<String>,
}

impl<'a> TransitionContext<'a> {
    /// A move at `at`, without further circumstances.
    pub const fn new(at: Timestamp, entropy: &'a dyn Entropy) -> Self {
        Self { at, entropy, failure: None, due: None, provider_reference: None }
    }
}

/// Why a trigger changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    /// The table has no such move.
    #[error("a payment with status {} cannot be {}", .status.as_str(), .trigger.participle())]
    NoSuchMove {
        /// The status of the payment.
        status: Status,
        /// The trigger that was refused.
        trigger: Trigger,
    },
    /// A withdrawal without a recipient cannot move on.
    #[error(
        "the withdrawal cannot be submitted before its recipient has entered an account on the hosted page"
    )]
    NoRecipient,
    /// A sum would leave the range of amounts.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl Payment {
    /// The move that `trigger` makes: the payment with its next version, its postings and its events.
    pub fn apply(self, trigger: Trigger, context: TransitionContext<'_>) -> Result<Changed, NotMoved> {
        let from = self.status();
        let before = BeforeChange::of(&self);
        let next = from.after(self.situation(), trigger);
        let next = next.ok_or_else(|| match trigger {
            Trigger::Submit if self.waits_for_recipient() => NotMoved::NoRecipient,
            _ => NotMoved::NoSuchMove { status: from, trigger },
        })?;
        let TransitionContext { at, entropy, failure, due, provider_reference } = context;
        let Self { terms, mut state } = self.revised();
        // Nothing happens before what happened already, whatever the clocks of two nodes say.
        let at = at.max(state.updated_at);

        state.provider_reference = match trigger {
            // The reference reported with the money replaces any earlier one.
            Trigger::Confirm | Trigger::ArriveLate => provider_reference.or(state.provider_reference),
            _ => state.provider_reference.or(provider_reference),
        };
        match trigger {
            Trigger::Refund(amount) => {
                state.refunded_amount = state.refunded_amount.checked_add(amount.minor())?;
            }
            Trigger::Return => state.refunded_amount = terms.amount.minor(),
            _ => {}
        }
        let postings = postings(&terms, &state, trigger)?;
        state.status = next;
        state.version += 1;
        state.updated_at = at;
        state.failure = failure_after(terms.kind.direction(), trigger, failure);
        if next == Status::Completed {
            state.completed_at = Some(at);
            state.late = trigger == Trigger::ArriveLate;
        }

        let payment = Self { terms, state };
        let mut changes = Changes::new(payment.terms().tenant, at);
        changes.transactions.extend(postings);
        for event in payload::events(&payment, Some(from), entropy) {
            changes.add(event);
        }
        changes.work.push(changes::next_work(payment.id(), due));
        changes::put_moved(&mut changes, before, payment.clone());
        Ok(Changed { payment, changes })
    }
}

/// The transactions of a move.
fn postings(terms: &Terms, state: &State, trigger: Trigger) -> Result<Option<Transaction>, OutOfRange> {
    let (currency, amount, fee): (_, _, Minor) = (terms.currency, terms.amount, state.fee);
    let transaction = match (terms.kind.direction(), trigger) {
        (Direction::Deposit, Trigger::Confirm | Trigger::ArriveLate) => {
            Transaction::deposit_completed(currency, state.received_amount.unwrap_or(amount), fee)?
        }
        (Direction::Deposit, Trigger::Refund(refund)) => Transaction::refund(currency, refund),
        (Direction::Withdrawal, Trigger::Confirm) => {
            Transaction::withdrawal_completed(currency, amount, fee)?
        }
        (Direction::Withdrawal, Trigger::Fail | Trigger::Cancel | Trigger::Expire) => {
            Transaction::withdrawal_released(currency, amount, fee)?
        }
        (Direction::Withdrawal, Trigger::Return) => Transaction::withdrawal_returned(currency, amount),
        _ => return Ok(None),
    };
    Ok(Some(transaction))
}

/// The reason why the payment has failed, if it has. Money that arrives late takes an earlier failure back.
fn failure_after(direction: Direction, trigger: Trigger, given: Option<Failure>) -> Option<Failure> {
    match trigger {
        Trigger::Expire if direction == Direction::Withdrawal => {
            Some(Failure::new(FailureCode::Expired, "nobody said in time where the payout goes"))
        }
        Trigger::Expire => Some(Failure::new(FailureCode::Expired, "the payment was not paid in time")),
        Trigger::Return => {
            let message = given.map(|failure| failure.message);
            let message = message.unwrap_or_else(|| "the bank sent the payout back".to_owned());
            Some(Failure::new(FailureCode::PayoutReturned, message))
        }
        Trigger::Fail => {
            Some(given.unwrap_or_else(|| Failure::new(FailureCode::Failed, "the payment failed")))
        }
        Trigger::Cancel | Trigger::GiveUp => given,
        Trigger::Submit | Trigger::Confirm | Trigger::ArriveLate | Trigger::Refund(_) => None,
    }
}
