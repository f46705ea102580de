//! Instructions that are requested from the rail after the payment was committed.
//!
//! The payment exists before its rail learns of it, so that the rail never acts on a payment that does not
//! exist. A second commit adds the rail's answer. If there was no answer that could be understood, the caller
//! is told that the outcome is unknown, and a worker asks again.

use quipu_commit::{Changes, CommitError, Decided, KeptAnswer, Refusal, act_on};
use quipu_kernel::Timestamp;

use crate::{
    create::{Attempt, CreatePayment, broken},
    details::instructions::Instructions,
    error::CreateError,
    payment::{
        Due, DueAction, Payment,
        apply::TransitionContext,
        changes::{self, Changed},
        failure::Failure,
        status::Trigger,
        view,
    },
    rail::{
        Rail,
        answer::{Instructed, Reservation},
    },
    request::creation_key::CreationKey,
};

/// Why the rail's answer was not committed.
enum NotKept {
    /// The payment could not be read again, for this reason.
    Unread(String),
    /// A contract is broken.
    Broken(CreateError),
    /// The commit did not happen.
    Commit(CommitError),
}

impl From<CommitError> for NotKept {
    fn from(error: CommitError) -> Self {
        Self::Commit(error)
    }
}

/// The next thing to do with a payment that its provider knows: ask for its status, or let it expire.
fn due_after(payment: &Payment, rail: &dyn Rail, now: Timestamp) -> Option<Due> {
    let question = rail.questions().first().map(|gap| Due { at: now.plus(*gap), action: DueAction::Ask });
    Due::earlier(question, payment.terms().expiry())
}

impl CreatePayment {
    /// Asks the rail for the instructions of a payment that has just been committed, and commits them with
    /// the answer that is kept under `key`.
    pub(crate) async fn instruct(
        &self,
        payment: Box<Payment>,
        reserved: Reservation,
        key: Option<CreationKey>,
    ) -> Attempt {
        let Some(rail) = self.rails().get(&payment.terms().rail) else {
            let (id, name) = (payment.id(), &payment.terms().rail);
            return Attempt::Refused(broken(format!("the rail {name} of payment {id} is gone")), None);
        };
        let answer = match reserved.instruct(&**rail, &payment).await {
            Instructed::Given(instructions) => Ok(*instructions),
            Instructed::Rejected(failure) => Err(failure),
            Instructed::Unknown => {
                let now = self.clock.now();
                let due = due_after(&payment, &**rail, now);
                // If this fails, the question is due all the same, a little later.
                let _ = self.commit.commit(changes::postponed(&payment, now, due)).await;
                return outcome_unknown(&payment, "the rail gave no answer that could be understood");
            }
        };
        self.commit_answer(payment, &**rail, &answer, key).await
    }

    /// Commits what the rail answered: the instructions, or why it refuses the payment. If the payment has
    /// changed meanwhile, that is decided anew.
    async fn commit_answer(
        &self,
        payment: Box<Payment>,
        rail: &dyn Rail,
        answer: &Result<Instructions, Failure>,
        key: Option<CreationKey>,
    ) -> Attempt {
        let read = || self.found_again(&payment);
        let decide = |found: Payment| {
            if !found.awaits_instructions() {
                return Ok(Decided::Stay((found, None)));
            }
            let Changed { payment: after, mut changes } = self.answered(found, rail, answer)?;
            let kept = view::creation_answer(&after);
            let bring =
                |key: CreationKey| key.record(Some(after.id().clone()), KeptAnswer::Brought(kept.clone()));
            changes.idempotency = key.clone().map(bring);
            Ok(Decided::change(changes, (after, Some(kept))))
        };
        match act_on(&*self.commit, (*payment).clone(), read, decide).await {
            Ok((after, Some(kept))) => Attempt::Created(Box::new(after), Some(kept)),
            Ok((moved_on, None)) => {
                if let Err(failure) = answer {
                    self.report(rail, &moved_on, failure).await;
                }
                self.answer_as_it_stands(Box::new(moved_on), key).await
            }
            Err(NotKept::Broken(error)) => Attempt::Refused(error, None),
            Err(NotKept::Commit(CommitError::Refused(Refusal::IdempotencyKeyUsed))) => {
                // Whoever brought the answer may have seen the payment move on.
                if let Err(failure) = answer {
                    match self.found_again(&payment).await {
                        Ok(found) => self.report(rail, &found, failure).await,
                        Err(_) => self.pass_on(rail, &payment, failure).await,
                    }
                }
                Attempt::KeyUsed
            }
            Err(NotKept::Unread(why)) => {
                if let Err(failure) = answer {
                    self.pass_on(rail, &payment, failure).await;
                }
                outcome_unknown(&payment, why)
            }
            // What the rail did is done; whoever asks again finds out.
            Err(NotKept::Commit(error)) => outcome_unknown(&payment, error.to_string()),
        }
    }

    /// The payment as it is now, if it can be read.
    async fn found_again(&self, payment: &Payment) -> Result<Payment, NotKept> {
        let found = self.reads.payment(payment.terms().tenant, payment.id()).await;
        let found = found.map_err(|error| NotKept::Unread(error.to_string()))?;
        found.ok_or_else(|| NotKept::Unread("the payment is no longer there".to_owned()))
    }

    /// The payment with the rail's instructions, or failed because the rail refuses it.
    fn answered(
        &self,
        payment: Payment,
        rail: &dyn Rail,
        answer: &Result<Instructions, Failure>,
    ) -> Result<Changed, NotKept> {
        let (id, now) = (payment.id().clone(), self.clock.now());
        match answer {
            Ok(instructions) => {
                let due = due_after(&payment, rail, now);
                Ok(payment.with_instructions(instructions.clone(), now, due))
            }
            Err(failure) => {
                let mut context = TransitionContext::new(now, &**self.entropy());
                context.failure = Some(failure.clone());
                let failed = payment.apply(Trigger::Fail, context);
                failed.map_err(|error| NotKept::Broken(broken(format!("payment {id} did not fail: {error}"))))
            }
        }
    }

    /// Parks a refusal for a person if the payment was reported as paid meanwhile. The creation is answered
    /// in any case, since the payment exists.
    async fn report(&self, rail: &dyn Rail, payment: &Payment, failure: &Failure) {
        if payment.state().completed_at.is_some() {
            self.pass_on(rail, payment, failure).await;
        }
    }

    /// Has a refusal processed that this creation cannot judge itself.
    async fn pass_on(&self, rail: &dyn Rail, payment: &Payment, failure: &Failure) {
        if let Some(rail_events) = &self.rail_events {
            Box::pin(rail_events.run_refusal(rail.name(), payment, failure)).await;
        }
    }

    /// The payment, which no longer waits for instructions, with the answer that follows from it. The answer
    /// is kept under `key`.
    pub(crate) async fn answer_as_it_stands(
        &self,
        payment: Box<Payment>,
        key: Option<CreationKey>,
    ) -> Attempt {
        let answer = view::creation_answer(&payment);
        if let Some(key) = key {
            let mut changes = Changes::new(payment.terms().tenant, self.clock.now());
            let kept = KeptAnswer::Brought(answer.clone());
            changes.idempotency = Some(key.record(Some(payment.id().clone()), kept));
            match self.commit.commit(changes).await {
                // Another repeat was first; what it brought is everybody's answer.
                Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => return Attempt::KeyUsed,
                // The payment stands whatever became of its answer, so nobody is told that nothing happened.
                Err(CommitError::Store(error)) => return outcome_unknown(&payment, error.to_string()),
                // No other refusal concerns a change that only keeps an answer.
                Ok(_) | Err(CommitError::Refused(_)) => {}
            }
        }
        Attempt::Created(payment, Some(answer))
    }
}

/// The refusal of a creation whose payment exists, while nobody knows what its rail made of it.
fn outcome_unknown(payment: &Payment, cause: impl Into<String>) -> Attempt {
    Attempt::Refused(CreateError::OutcomeUnknown { id: payment.id().clone(), cause: cause.into() }, None)
}
