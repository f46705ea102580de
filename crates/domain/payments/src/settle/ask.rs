//! Asking a rail about a payment, and applying what it answers.

use quipu_commit::WorkInHand;
use quipu_merchants::Direction;

use super::{
    Attended, SettlePayment,
    again::{MAX_BACKOFF, RETRY_AFTER, expiry, outside_schedule_if_taken_over},
};
use crate::{
    error::{RailEventError, SettleError},
    history::received::RailEventOutcome,
    payment::{Due, DueAction, Payment, changes, status::Status},
    rail::{
        CIRCUIT_OPEN_FOR,
        answer::{Arrival, Instructed, RailStatus},
        event::{RailEvent, RailEventKind},
    },
};

impl SettlePayment {
    /// Asks the rail for the status of a payment.
    pub(super) async fn ask(&self, claimed: &WorkInHand, payment: Payment) -> Result<(), SettleError> {
        if !matches!(payment.status(), Status::Pending | Status::Processing | Status::Completed) {
            // It ended in another way since the claim.
            return self.commit_unless_stale(self.done_change(claimed)).await;
        }
        let rail = self.rail(&payment)?;
        let claimed = &outside_schedule_if_taken_over(claimed, &payment);
        let attended = Attended { rail, claimed, payment };
        let payment = &attended.payment;
        match rail.ask(payment).await {
            RailStatus::Completed(arrival) => self.answered(&attended, arrived(payment, &arrival)).await,
            RailStatus::Failed(failure) => {
                self.answered(&attended, RailEvent::refusal(payment, failure)).await
            }
            RailStatus::Events(events, again) => {
                let again = again.map(|at| Due { at, action: DueAction::Ask });
                if self.process_events(&attended, events, again).await? {
                    return Ok(());
                }
                let due = Due::earlier(again, expiry(payment));
                self.commit_unless_stale(changes::postponed(payment, self.ports.clock.now(), due)).await
            }
            RailStatus::WillReport => {
                let expiry = expiry(payment);
                self.commit_unless_stale(changes::postponed(payment, self.ports.clock.now(), expiry)).await
            }
            RailStatus::Pending if payment.awaits_instructions() => self.instruct(attended).await,
            RailStatus::NotFound if payment.status() == Status::Processing => {
                match payment.terms().kind.direction() {
                    Direction::Deposit if payment.awaits_instructions() => self.instruct(attended).await,
                    Direction::Deposit => self.ask_again(&attended).await,
                    Direction::Withdrawal => self.submit_anew(&attended).await,
                }
            }
            RailStatus::Pending | RailStatus::Silent | RailStatus::NotFound => {
                self.ask_again(&attended).await
            }
            RailStatus::Busy => self.put_off_unsent_question(&attended, MAX_BACKOFF).await,
            RailStatus::CircuitOpen => self.put_off_unsent_question(&attended, CIRCUIT_OPEN_FOR).await,
        }
    }

    /// Submits a withdrawal again that its rail never received. If staff decided about it while the rail was
    /// asked, nothing is sent. The question counts.
    async fn submit_anew(&self, attended: &Attended<'_>) -> Result<(), SettleError> {
        let due = Due { at: self.ports.clock.now(), action: DueAction::Submit };
        self.put_off_as_it_stands(attended, due).await
    }

    /// Requests again the instructions of a deposit whose creation had no certain outcome, unless it has
    /// expired: then nobody is to pay any more.
    async fn instruct(&self, attended: Attended<'_>) -> Result<(), SettleError> {
        let Attended { rail, claimed, payment } = &attended;
        if expiry(payment).is_some_and(|end| end.at <= self.ports.clock.now()) {
            return self.ask_again(&attended).await;
        }
        match rail.instruct(payment).await {
            Instructed::Given(instructions) => {
                let (expiry, now) = (expiry(payment), self.ports.clock.now());
                let due = Due::earlier(self.next_question(*rail, claimed.attempts), expiry);
                let instructed = attended.payment.with_instructions(*instructions, now, due);
                self.commit_unless_stale(instructed.changes).await
            }
            Instructed::Rejected(failure) => {
                self.answered(&attended, RailEvent::refusal(payment, failure)).await
            }
            Instructed::Unknown => self.ask_again(&attended).await,
        }
    }

    /// Applies the rail's answer to a call or a question. An answer that contradicts the gateway's knowledge
    /// (another amount, or a rejection of a payment reported as paid) is parked, and the rail is asked again,
    /// because it may correct itself.
    pub(super) async fn answered(
        &self,
        attended: &Attended<'_>,
        event: RailEvent,
    ) -> Result<(), SettleError> {
        let Attended { rail, claimed, payment } = attended;
        match self.ports.rail_events.run_answer(rail.name(), &event, payment).await {
            Ok(RailEventOutcome::Applied) => Ok(()),
            Ok(RailEventOutcome::Known | RailEventOutcome::Parked(_)) => self.ask_again(attended).await,
            Err(error) => self.unprocessed(claimed, error).await,
        }
    }

    /// Applies the rail's events, and records what is due next. Returns whether the payment moved.
    async fn process_events(
        &self,
        attended: &Attended<'_>,
        events: Vec<RailEvent>,
        again: Option<Due>,
    ) -> Result<bool, SettleError> {
        let Attended { rail, claimed, payment } = attended;
        let mut applied = false;
        for event in events {
            match self.ports.rail_events.run_polled(rail.name(), &event, payment, again).await {
                Ok(outcome) => applied |= outcome == RailEventOutcome::Applied,
                Err(error) => return self.unprocessed(claimed, error).await,
            }
        }
        Ok(applied)
    }

    /// Passes the error of an event on. An event that the ledger cannot book is asked for again later.
    async fn unprocessed<T>(&self, claimed: &WorkInHand, error: RailEventError) -> Result<T, SettleError> {
        if let RailEventError::Unbookable(_) = error {
            let at = self.ports.clock.now().plus(RETRY_AFTER);
            self.put_off(claimed, Due { at, action: DueAction::Ask }).await?;
        }
        Err(error.into())
    }
}

/// The event that stands for an answer to a status question; the same answer is always the same event.
fn arrived(payment: &Payment, arrival: &Arrival) -> RailEvent {
    let Arrival { amount, currency, provider_reference } = arrival;
    RailEvent {
        id: format!("asked:{}:completed:{amount}:{currency}", payment.id()),
        kind: RailEventKind::Completed,
        rail_reference: payment.id().as_str().to_owned(),
        amount: Some(*amount),
        currency: Some(*currency),
        occurred_at: None,
        code: None,
        message: None,
        provider_reference: provider_reference.clone(),
    }
}
