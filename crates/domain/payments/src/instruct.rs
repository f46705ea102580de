//! Instructions that are requested from the rail after the payment was committed.
//!
//! The payment exists before its rail learns of it, so that the rail never acts on a payment that does not
//! exist. A second commit adds the rail's answer. If there was no answer that could be understood, the caller
//! is told that the outcome is unknown, and a worker asks again.

use quipu_commit::{Changes, CommitError, IdempotencyRecord, KeptAnswer, Refusal};
use quipu_kernel::{Tenant, Timestamp};
use quipu_merchants::Direction;

use crate::{
    apply::Happening,
    changes::{self, Changed},
    create::{Attempt, CreatePayment, broken},
    error::CreateError,
    instructions::Instructions,
    payment::{Due, DueAction, Failure, Payment},
    rail::Rail,
    rail_answer::{Instructed, Reservation},
    rail_event::RailEvent,
    status::{Status, Trigger},
    view,
};

/// How often the second commit is decided again because a callback came first.
const TRIES: u8 = 4;

impl Payment {
    /// Whether this is a deposit that has no instructions yet.
    pub fn awaits_instructions(&self) -> bool {
        self.terms().kind.direction() == Direction::Deposit
            && self.status() == Status::Processing
            && self.state().instructions == Instructions::default()
    }

    /// The payment with its instructions. Its status does not change, and there is no event.
    pub(crate) fn with_instructions(
        self,
        instructions: Instructions,
        at: Timestamp,
        due: Option<Due>,
    ) -> Changed {
        let (terms, mut state) = self.into_parts();
        let from = state.revision;
        state.instructions = instructions;
        state.revision += 1;
        state.updated_at = at;
        let mut changes = Changes::new(terms.tenant, at);
        changes.work.push(changes::next_work(&terms.id, due));
        changes.payment_id = Some(terms.id.clone());
        let payment = Self::restore(terms, state);
        changes::save(&mut changes, Some(from), payment.clone());
        Changed { payment, changes }
    }
}

/// The next thing to do with a payment that its provider knows: ask for its status, or let it expire.
fn due_after(payment: &Payment, rail: &dyn Rail, now: Timestamp) -> Option<Due> {
    let asked = rail.questions().first().map(|gap| Due { at: now.plus(*gap), action: DueAction::Ask });
    let expires = payment.terms().expires_at.map(|at| Due { at, action: DueAction::Expire });
    Due::earlier(asked, expires)
}

impl CreatePayment {
    /// Asks the rail for the instructions of a payment that has just been committed, and commits them with
    /// the answer that is kept under `record`.
    pub(crate) async fn instruct(
        &self,
        payment: Box<Payment>,
        reserved: Reservation,
        record: Option<IdempotencyRecord>,
    ) -> Attempt {
        let Some(rail) = self.rails().get(&payment.terms().rail).cloned() else {
            return Attempt::Refused(broken("a rail is gone"), None);
        };
        let (tenant, id) = (payment.terms().tenant, payment.id().clone());
        let answer = match reserved {
            Reservation::Kept(reserved) => reserved.instruct(&payment).await,
            Reservation::Unneeded => rail.instruct(&payment).await,
        };
        if answer == Instructed::Unknown {
            let now = self.clock.now();
            let due = due_after(&payment, &*rail, now);
            // If this fails, the question is due all the same, a little later.
            let _ = self.commit.commit(changes::postponed(&payment, now, due)).await;
            return Attempt::Refused(CreateError::OutcomeUnknown { id }, None);
        }
        let mut payment = payment;
        for _ in 0..TRIES {
            let now = self.clock.now();
            let decided = match &answer {
                _ if !payment.awaits_instructions() => {
                    if let Instructed::Rejected(failure) = &answer {
                        self.report(&*rail, &payment, failure).await;
                    }
                    return self.known(payment, record, tenant).await;
                }
                Instructed::Given(instructions) => {
                    let due = due_after(&payment, &*rail, now);
                    Ok((*payment).clone().with_instructions((**instructions).clone(), now, due))
                }
                Instructed::Rejected(failure) => self.rejected(&payment, failure, now),
                Instructed::Unknown => return Attempt::Refused(CreateError::OutcomeUnknown { id }, None),
            };
            let Changed { payment: after, mut changes } = match decided {
                Ok(changed) => changed,
                Err(error) => return Attempt::Refused(error, None),
            };
            let kept = view::creation_answer(&after);
            changes.idempotency = record
                .clone()
                .map(|record| IdempotencyRecord { answer: KeptAnswer::Brought(kept.clone()), ..record });
            match self.commit.commit(changes).await {
                Ok(_) => return Attempt::Created(Box::new(after), Some(kept)),
                Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => return Attempt::KeyUsed,
                Err(CommitError::Refused(Refusal::Stale)) => match self.reads.payment(tenant, &id).await {
                    Ok(Some(found)) => payment = Box::new(found),
                    _ => return Attempt::Refused(CreateError::OutcomeUnknown { id }, None),
                },
                // What the rail did is done; whoever asks again finds out.
                Err(_) => return Attempt::Refused(CreateError::OutcomeUnknown { id }, None),
            }
        }
        Attempt::Refused(CreateError::OutcomeUnknown { id }, None)
    }

    fn rejected(&self, payment: &Payment, failure: &Failure, at: Timestamp) -> Result<Changed, CreateError> {
        let mut happening = Happening::new(at, &**self.entropy());
        happening.failure = Some(failure.clone());
        let failed = payment.clone().apply(Trigger::Fail, happening);
        failed.map_err(|error| broken(&error.to_string()))
    }

    /// Parks a refusal for a person if the payment was reported as paid meanwhile. The creation is answered
    /// in any case, since the payment exists.
    async fn report(&self, rail: &dyn Rail, payment: &Payment, failure: &Failure) {
        let Some(hear) = self.hear.as_ref().filter(|_| payment.state().completed_at.is_some()) else {
            return;
        };
        let refusal = RailEvent::refusal(payment, failure.clone());
        let _ = Box::pin(hear.run_answer(rail.name(), &refusal, payment)).await;
    }

    /// The payment, whose outcome has become known meanwhile, with the answer that follows from it.
    pub(crate) async fn known(
        &self,
        payment: Box<Payment>,
        record: Option<IdempotencyRecord>,
        tenant: Tenant,
    ) -> Attempt {
        let answer = view::creation_answer(&payment);
        if let Some(record) = record {
            let mut changes = Changes::new(tenant, self.clock.now());
            changes.idempotency =
                Some(IdempotencyRecord { answer: KeptAnswer::Brought(answer.clone()), ..record });
            match self.commit.commit(changes).await {
                // Another repeat was first; what it brought is everybody's answer.
                Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => return Attempt::KeyUsed,
                // The payment stands whatever became of its answer, so nobody is told that nothing happened.
                Err(CommitError::Store(_)) => {
                    return Attempt::Refused(CreateError::OutcomeUnknown { id: payment.id().clone() }, None);
                }
                Ok(_) | Err(CommitError::Refused(_)) => {}
            }
        }
        Attempt::Created(payment, Some(answer))
    }
}
