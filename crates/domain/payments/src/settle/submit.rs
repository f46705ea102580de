//! Submitting a withdrawal to its rail.

use std::time::Duration;

use quipu_commit::WorkInHand;
use quipu_merchants::Direction;

use super::{
    Attended, SettlePayment,
    again::{MAX_BACKOFF, expiry, not_begun, until_room},
    stale_is_success,
};
use crate::{
    error::SettleError,
    payment::{
        Due, DueAction, Payment,
        apply::TransitionContext,
        changes::{self, Changed},
        status::{Status, Trigger},
    },
    rail::{
        CIRCUIT_OPEN_FOR,
        answer::{Capacity, Reservation, Submission},
        event::RailEvent,
    },
};

/// How often a withdrawal has been handed to its rail.
enum Handover {
    /// Not yet.
    First,
    /// At least once. The attempts of this claim count the questions since.
    Again(WorkInHand),
}

impl SettlePayment {
    /// After how long a submission whose outcome was not recorded is made again, under the same identifier,
    /// if its node still lives. A worker must have given up its attempt by then.
    pub const RESUBMIT_AFTER: Duration = Duration::from_secs(30);

    /// Submits a withdrawal to its rail. Before the call the payment is committed as `processing`, and can no
    /// longer be cancelled. This node keeps its claim on the submission, so that another node makes it if
    /// this one dies between the commit and the call.
    pub(super) async fn submit(&self, claimed: &WorkInHand, payment: Payment) -> Result<(), SettleError> {
        let rail = self.rail(&payment)?;
        let is_begun = payment.status() == Status::Processing;
        let reserved = match rail.reserve(Direction::Withdrawal).await {
            Capacity::Reserved(reserved) => Ok(reserved),
            Capacity::Busy if is_begun => Err(MAX_BACKOFF),
            Capacity::Busy => Err(until_room(claimed)),
            Capacity::CircuitOpen => Err(CIRCUIT_OPEN_FOR),
        };
        let now = self.ports.clock.now();
        let reserved = match reserved {
            Ok(reserved) => reserved,
            Err(pause) => {
                let due = Due { at: now.plus(pause), action: DueAction::Submit };
                // After a submission has begun, its attempts count the questions about it.
                let claim = if is_begun { not_begun(claimed) } else { claimed.clone() };
                return self.put_off(&claim, due).await;
            }
        };
        if is_begun {
            // The submission was begun here or elsewhere and is still to be made, unless staff decided about
            // it since the claim.
            let until = now.plus(Self::RESUBMIT_AFTER);
            let still_to_do = self.ports.queue.claim_shown(vec![claimed.clone()], until).await?.pop();
            return match still_to_do {
                Some(claimed) => {
                    let again = Handover::Again(not_begun(&claimed));
                    self.hand_over(Attended { rail, claimed: &claimed, payment }, reserved, again).await
                }
                None => Ok(()),
            };
        }
        let mut context = TransitionContext::new(now, &*self.ports.entropy);
        context.due = Some(Due { at: now.plus(Self::RESUBMIT_AFTER), action: DueAction::Submit });
        let (expiry, original) = (expiry(&payment), payment.clone());
        let Ok(Changed { payment, changes }) = payment.apply(Trigger::Submit, context) else {
            return self.commit_unless_stale(changes::postponed(&original, now, expiry)).await;
        };
        match self.ports.commit.commit(changes::taken(changes)).await.map(drop) {
            Ok(()) => self.hand_over(Attended { rail, claimed, payment }, reserved, Handover::First).await,
            Err(error) => stale_is_success(error),
        }
    }

    /// Calls the rail for a withdrawal in `processing`.
    async fn hand_over(
        &self,
        attended: Attended<'_>,
        reserved: Reservation,
        handover: Handover,
    ) -> Result<(), SettleError> {
        let questions_so_far = match &handover {
            Handover::First => 0,
            Handover::Again(claim) => claim.attempts,
        };
        match self.call(&attended, reserved, questions_so_far).await {
            Ok((due, named)) => {
                let next = match (due, handover) {
                    (Some(due), Handover::Again(claim)) => self.put_off_change(&claim, due),
                    _ => changes::next(&attended.payment, self.ports.clock.now(), due),
                };
                self.keep(attended.payment, named, next).await
            }
            Err(refusal) => self.answered(&attended, refusal).await,
        }
    }

    /// Calls the rail, always with the payment's own identifier, after `questions_so_far` about it.
    /// Returns what is due next and the rail's own identifier, or the refusal.
    async fn call(
        &self,
        attended: &Attended<'_>,
        reserved: Reservation,
        questions_so_far: i32,
    ) -> Result<(Option<Due>, Option<String>), RailEvent> {
        let Attended { rail, payment, .. } = attended;
        match reserved.submit(*rail, payment).await {
            Submission::Accepted { provider_reference } => {
                Ok((self.next_question(*rail, questions_so_far), provider_reference))
            }
            Submission::Unknown => Ok((self.next_question(*rail, questions_so_far), None)),
            Submission::NotSent => {
                let at = self.ports.clock.now().plus(CIRCUIT_OPEN_FOR);
                Ok((Some(Due { at, action: DueAction::Submit }), None))
            }
            Submission::Rejected(failure) => Err(RailEvent::refusal(payment, failure)),
        }
    }
}
