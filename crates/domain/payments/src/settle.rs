//! What a worker does with a payment that is due.
//!
//! Every step may be repeated: after a crash, after a lease has expired, by two workers at once. Repeating a
//! completed step succeeds and changes nothing. A silent rail is asked again by its schedule, which counts only
//! the questions that were sent.

mod again;
mod unknown_rails;

use std::{sync::Arc, time::Duration};

use quipu_commit::{Changes, Commit, CommitError, Decided, Refusal, WorkInHand, WorkQueue, act_on};
use quipu_kernel::{Clock, Entropy, StoreError};
use quipu_merchants::{Direction, Method};

use self::{
    again::{CIRCUIT_OPEN_FOR, IN_A_WHILE, expiry, not_begun, outside_schedule_if_taken_over, until_room},
    unknown_rails::UnknownRails,
};
use crate::{
    error::{RailEventError, SettleError},
    history::received::RailEventOutcome,
    payment::{
        Due, DueAction, Payment,
        apply::TransitionContext,
        changes::{self, Changed},
        status::{Status, Trigger},
    },
    ports::PaymentReads,
    rail::{
        Rail,
        answer::{Arrival, Capacity, Instructed, RailStatus, Reservation, Submission},
        event::{RailEvent, RailEventKind},
        rails::Rails,
    },
    rail_events::ProcessRailEvent,
};

/// Moves payments towards their final status.
pub struct SettlePayment {
    commit: Arc<dyn Commit>,
    queue: Arc<dyn WorkQueue>,
    reads: Arc<dyn PaymentReads>,
    rails: Arc<Rails>,
    rail_events: Arc<ProcessRailEvent>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    unknown_rails: UnknownRails,
}

/// When an outcome that the ledger could not book is asked for again; the operator has to make room first.
const RETRY_AFTER: Duration = Duration::from_hours(1);

/// What the end of its time does to a payment.
fn at_expiry(payment: &Payment) -> Trigger {
    let terms = payment.terms();
    let is_redirected_deposit =
        terms.method == Method::RedirectPay && terms.kind.direction() == Direction::Deposit;
    if is_redirected_deposit { Trigger::GiveUp } else { Trigger::Expire }
}

impl SettlePayment {
    /// After how long a submission whose outcome was not recorded is made again, under the same identifier,
    /// if its node still lives. A worker must have given up its attempt by then.
    pub const RESUBMIT_AFTER: Duration = Duration::from_secs(30);

    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        queue: Arc<dyn WorkQueue>,
        reads: Arc<dyn PaymentReads>,
        rails: Arc<Rails>,
        rail_events: Arc<ProcessRailEvent>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let unknown_rails = UnknownRails::default();
        Self { commit, queue, reads, rails, rail_events, clock, entropy, unknown_rails }
    }

    /// Does what is due for a claimed payment. Repeating a completed step succeeds and changes nothing. A
    /// payment on a rail that this node does not know gives an error only once a minute for each rail.
    pub async fn attend(&self, claimed: &WorkInHand) -> Result<(), SettleError> {
        let unfit = |what: &str| {
            let WorkInHand { queue, tenant, subject, action, .. } = claimed;
            failed(format!("{what}: {action:?} in queue {}, on {subject:?} of tenant {tenant}", queue.0))
        };
        let id = claimed.subject.parse().map_err(|_| unfit("work names what is no payment"))?;
        let Some(payment) = self.reads.payment(claimed.tenant, &id).await? else {
            return Err(unfit("work names a payment that does not exist"));
        };
        let action = claimed.action.parse().map_err(|_| unfit("work names no action of settlement"))?;
        let end = expiry(&payment);
        let attended = match action {
            DueAction::Submit => Box::pin(self.submit(claimed, payment)).await,
            DueAction::Ask => Box::pin(self.ask(claimed, payment)).await,
            DueAction::Expire => self.expire(claimed, payment).await,
        };
        match attended {
            Err(SettleError::UnknownRail(name)) => {
                self.leave_to_others(claimed, action, end).await?;
                if self.unknown_rails.is_news(&name, self.clock.now()) {
                    Err(SettleError::UnknownRail(name))
                } else {
                    Ok(())
                }
            }
            attended => attended,
        }
    }

    /// Submits a withdrawal to its rail. Before the call the payment is committed as `processing`, and can no
    /// longer be cancelled. This node keeps its claim on the submission, so that another node makes it if
    /// this one dies between the commit and the call.
    async fn submit(&self, claimed: &WorkInHand, payment: Payment) -> Result<(), SettleError> {
        let rail = self.rail(&payment)?;
        let is_begun = payment.status() == Status::Processing;
        let reserved = match rail.reserve(Direction::Withdrawal).await {
            Capacity::Reserved(reserved) => Ok(reserved),
            Capacity::Busy if is_begun => Err(IN_A_WHILE),
            Capacity::Busy => Err(until_room(claimed)),
            Capacity::CircuitOpen => Err(CIRCUIT_OPEN_FOR),
        };
        let now = self.clock.now();
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
            let still_to_do = self.queue.claim_shown(vec![claimed.clone()], until).await?.pop();
            return match still_to_do {
                Some(claimed) => {
                    let before = not_begun(&claimed);
                    self.hand_over(rail, reserved, &claimed, payment, Some(&before)).await
                }
                None => Ok(()),
            };
        }
        let mut context = TransitionContext::new(now, &*self.entropy);
        context.due = Some(Due { at: now.plus(Self::RESUBMIT_AFTER), action: DueAction::Submit });
        let (expiry, original) = (expiry(&payment), payment.clone());
        let Ok(Changed { payment, changes }) = payment.apply(Trigger::Submit, context) else {
            return self.commit_unless_stale(changes::postponed(&original, now, expiry)).await;
        };
        match self.commit.commit(changes::taken(changes)).await.map(drop) {
            Ok(()) => self.hand_over(rail, reserved, claimed, payment, None).await,
            Err(error) => stale_is_success(error),
        }
    }

    /// Calls the rail for a withdrawal in `processing`. If it was submitted before, the attempts of the claim
    /// `before` this call count the questions so far.
    async fn hand_over(
        &self,
        rail: &Arc<dyn Rail>,
        reserved: Reservation,
        claimed: &WorkInHand,
        payment: Payment,
        before: Option<&WorkInHand>,
    ) -> Result<(), SettleError> {
        let questions_so_far = before.map_or(0, |claim| claim.attempts);
        match self.call(rail, reserved, &payment, questions_so_far).await {
            Ok((due, named)) => {
                let next = match (due, before) {
                    (Some(due), Some(claim)) => self.put_off_change(claim, due),
                    _ => changes::next(&payment, self.clock.now(), due),
                };
                self.keep(payment, named, next).await
            }
            Err(refusal) => self.answered(rail, claimed, &payment, refusal).await,
        }
    }

    /// Calls the rail, always with the payment's own identifier, after `questions_so_far` about it.
    /// Returns what is due next and the rail's own identifier, or the refusal.
    async fn call(
        &self,
        rail: &Arc<dyn Rail>,
        reserved: Reservation,
        payment: &Payment,
        questions_so_far: i32,
    ) -> Result<(Option<Due>, Option<String>), RailEvent> {
        match reserved.submit(&**rail, payment).await {
            Submission::Accepted { provider_reference } => {
                Ok((self.next_question(rail, questions_so_far), provider_reference))
            }
            Submission::Unknown => Ok((self.next_question(rail, questions_so_far), None)),
            Submission::NotSent => {
                let at = self.clock.now().plus(CIRCUIT_OPEN_FOR);
                Ok((Some(Due { at, action: DueAction::Submit }), None))
            }
            Submission::Rejected(failure) => Err(RailEvent::refusal(payment, failure)),
        }
    }

    /// Asks the rail for the status of a payment.
    async fn ask(&self, claimed: &WorkInHand, payment: Payment) -> Result<(), SettleError> {
        if !matches!(payment.status(), Status::Pending | Status::Processing | Status::Completed) {
            // It ended in another way since the claim.
            return self.commit_unless_stale(self.done_change(claimed)).await;
        }
        let rail = self.rail(&payment)?;
        let claimed = &outside_schedule_if_taken_over(claimed, &payment);
        match rail.ask(&payment).await {
            RailStatus::Completed(arrival) => {
                self.answered(rail, claimed, &payment, arrived(&payment, &arrival)).await
            }
            RailStatus::Failed(failure) => {
                self.answered(rail, claimed, &payment, RailEvent::refusal(&payment, failure)).await
            }
            RailStatus::Events(events, again) => {
                let again = again.map(|at| Due { at, action: DueAction::Ask });
                if self.process_events(rail, claimed, &payment, events, again).await? {
                    return Ok(());
                }
                let due = Due::earlier(again, expiry(&payment));
                self.commit_unless_stale(changes::postponed(&payment, self.clock.now(), due)).await
            }
            RailStatus::WillReport => {
                let expiry = expiry(&payment);
                self.commit_unless_stale(changes::postponed(&payment, self.clock.now(), expiry)).await
            }
            RailStatus::Pending if payment.awaits_instructions() => {
                self.instruct(rail, claimed, payment).await
            }
            RailStatus::NotFound if payment.status() == Status::Processing => {
                match payment.terms().kind.direction() {
                    Direction::Deposit if payment.awaits_instructions() => {
                        self.instruct(rail, claimed, payment).await
                    }
                    Direction::Deposit => self.ask_again(rail, claimed, &payment).await,
                    Direction::Withdrawal => self.submit_anew(claimed, &payment).await,
                }
            }
            RailStatus::Pending | RailStatus::Silent | RailStatus::NotFound => {
                self.ask_again(rail, claimed, &payment).await
            }
            RailStatus::Busy => self.ask_after_all(claimed, &payment, IN_A_WHILE).await,
            RailStatus::CircuitOpen => self.ask_after_all(claimed, &payment, CIRCUIT_OPEN_FOR).await,
        }
    }

    /// Submits a withdrawal again that its rail never received. If staff decided about it while the rail was
    /// asked, nothing is sent. The question counts.
    async fn submit_anew(&self, claimed: &WorkInHand, payment: &Payment) -> Result<(), SettleError> {
        let due = Due { at: self.clock.now(), action: DueAction::Submit };
        self.put_off_as_it_stands(claimed, payment, due).await
    }

    /// Requests again the instructions of a deposit whose creation had no certain outcome, unless it has
    /// expired: then nobody is to pay any more.
    async fn instruct(
        &self,
        rail: &Arc<dyn Rail>,
        claimed: &WorkInHand,
        payment: Payment,
    ) -> Result<(), SettleError> {
        if expiry(&payment).is_some_and(|end| end.at <= self.clock.now()) {
            return self.ask_again(rail, claimed, &payment).await;
        }
        match rail.instruct(&payment).await {
            Instructed::Given(instructions) => {
                let (expiry, now) = (expiry(&payment), self.clock.now());
                let question = self.next_question(rail, claimed.attempts);
                let due = Due::earlier(question, expiry);
                self.commit_unless_stale(payment.with_instructions(*instructions, now, due).changes).await
            }
            Instructed::Rejected(failure) => {
                self.answered(rail, claimed, &payment, RailEvent::refusal(&payment, failure)).await
            }
            Instructed::Unknown => self.ask_again(rail, claimed, &payment).await,
        }
    }

    /// Applies the rail's answer to a call or a question. An answer that contradicts the gateway's knowledge
    /// (another amount, or a rejection of a payment reported as paid) is parked, and the rail is asked again,
    /// because it may correct itself.
    async fn answered(
        &self,
        rail: &Arc<dyn Rail>,
        claimed: &WorkInHand,
        payment: &Payment,
        event: RailEvent,
    ) -> Result<(), SettleError> {
        match self.rail_events.run_answer(rail.name(), &event, payment).await {
            Ok(RailEventOutcome::Applied) => Ok(()),
            Ok(RailEventOutcome::Known | RailEventOutcome::Parked(_)) => {
                self.ask_again(rail, claimed, payment).await
            }
            Err(error) => self.unprocessed(claimed, error).await,
        }
    }

    /// Applies the rail's events, and records what is due next. Returns whether the payment moved.
    async fn process_events(
        &self,
        rail: &Arc<dyn Rail>,
        claimed: &WorkInHand,
        payment: &Payment,
        events: Vec<RailEvent>,
        again: Option<Due>,
    ) -> Result<bool, SettleError> {
        let mut applied = false;
        for event in events {
            match self.rail_events.run_polled(rail.name(), &event, payment, again).await {
                Ok(outcome) => applied |= outcome == RailEventOutcome::Applied,
                Err(error) => return self.unprocessed(claimed, error).await,
            }
        }
        Ok(applied)
    }

    /// Passes the error of an event on. An event that the ledger cannot book is asked for again later.
    async fn unprocessed<T>(&self, claimed: &WorkInHand, error: RailEventError) -> Result<T, SettleError> {
        if let RailEventError::Unbookable(_) = error {
            let at = self.clock.now().plus(RETRY_AFTER);
            self.put_off(claimed, Due { at, action: DueAction::Ask }).await?;
        }
        Err(error.into())
    }

    /// Expires a payment. If the payment has moved meanwhile, the decision is made again.
    async fn expire(&self, claimed: &WorkInHand, found: Payment) -> Result<(), SettleError> {
        let (tenant, id) = (found.terms().tenant, found.id().clone());
        let (mut last, mut is_first) = (found.clone(), true);
        let read = || async { Ok(self.reads.payment(tenant, &id).await?) };
        let decide = |found: Option<Payment>| {
            let is_first = std::mem::replace(&mut is_first, false);
            let Some(payment) = found else { return Ok(Decided::Stay(())) };
            last = payment.clone();
            let now = self.clock.now();
            Ok(match payment.apply(at_expiry(&last), TransitionContext::new(now, &*self.entropy)) {
                Ok(moved) => Decided::change(moved.changes, ()),
                // No such move is allowed. The expiry is then done; what whoever moved the payment since the
                // claim has put in its place stays due.
                Err(_) if is_first => Decided::change(self.done_change(claimed), ()),
                Err(_) => Decided::Stay(()),
            })
        };
        let expired: Result<(), SettleError> = act_on(&*self.commit, Some(found), read, decide).await;
        if let Err(SettleError::Unbookable(_)) = expired {
            let due = Due { at: self.clock.now().plus(RETRY_AFTER), action: DueAction::Expire };
            self.commit_unless_stale(changes::postponed(&last, self.clock.now(), Some(due))).await?;
        }
        expired
    }

    async fn commit_unless_stale(&self, changes: Changes) -> Result<(), SettleError> {
        self.commit.commit(changes).await.map(drop).or_else(stale_is_success)
    }

    fn rail(&self, payment: &Payment) -> Result<&Arc<dyn Rail>, SettleError> {
        let name = &payment.terms().rail;
        self.rails.get(name).ok_or_else(|| SettleError::UnknownRail(name.clone()))
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

/// A stale decision counts as a success, since another has overtaken it.
fn stale_is_success(error: CommitError) -> Result<(), SettleError> {
    match error {
        CommitError::Refused(Refusal::Stale) => Ok(()),
        CommitError::Refused(refusal) => Err(failed(refusal.to_string())),
        CommitError::Store(error) => Err(error.into()),
    }
}

fn failed(what: String) -> SettleError {
    SettleError::Store(StoreError::Failed(what))
}
