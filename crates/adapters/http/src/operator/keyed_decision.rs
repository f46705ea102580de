//! The common part of all decisions of a person: each is made once under its key, and its answer is kept in
//! its own commit.

use quipu_commit::{Answer, IdempotencyRecord};
use quipu_kernel::Tenant;
use quipu_payments::{Answered, DecideError, StaffAction, StaffAttempt, StaffCall};
use serde_json::{Value, json};

use super::keyed_call;
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    error::ApiError,
    kept_answer,
};

/// A decision in progress: who makes it, and under which key.
pub(super) struct KeyedDecision<'a> {
    pub(super) action: StaffAction<'a>,
    keyed: Option<StaffAttempt>,
}

impl<'a> KeyedDecision<'a> {
    /// Begins a decision about a payment or receipt of `tenant`. The inner `Err` is the answer of an earlier
    /// attempt under this key.
    pub(super) async fn begin(
        call: &'a Call,
        staff: &AuthenticatedOperator,
        tenant: Tenant,
        what: StaffCall<'_>,
    ) -> Result<Result<Self, Answered>, ApiError> {
        let entropy = call.state.services.entropy.as_ref();
        let action = StaffAction { entropy, at: call.now, actor: staff.actor() };
        let Some(key) = kept_answer::idempotency_key(call)? else {
            return Ok(Ok(Self { action, keyed: None }));
        };
        let keyed = keyed_call::attempt(call, tenant, what, &key).await?;
        match keyed.repeat().await? {
            Some(repeated) => Ok(Err(repeated)),
            None => Ok(Ok(Self { action, keyed: Some(keyed) })),
        }
    }

    /// The record that keeps the answer with this data in the decision's commit.
    pub(super) fn keeps(&self, data: &Value) -> Option<IdempotencyRecord> {
        self.keyed.as_ref().map(|keyed| keyed.record(answer(data)))
    }

    /// Answers with the outcome. A refusal because of the payment's state is kept too.
    pub(super) async fn end(self, decided: Result<Value, DecideError>) -> Outcome {
        match (decided, self.keyed) {
            (Ok(data), _) => kept_answer::send(Answered { answer: answer(&data), replayed: false }),
            (Err(DecideError::IdempotencyKeyUsed), Some(keyed)) => {
                kept_answer::send(keyed.answer_of_the_winner().await?)
            }
            (Err(error), Some(keyed)) if is_kept(&error) => {
                let refusal = ApiError::from(error).to_answer(self.action.at);
                kept_answer::send(keyed.keep(refusal).await?)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

fn answer(data: &Value) -> Answer {
    Answer { status: 200, body: json!({ "success": true, "data": data }).to_string() }
}

const fn is_kept(error: &DecideError) -> bool {
    matches!(
        error,
        DecideError::NotAllowed(_)
            | DecideError::ExceedsPayment(_)
            | DecideError::InsufficientBalance
            | DecideError::OutOfRange
    )
}
