//! The common part of all decisions of a person: each is made once under its key, and its answer is kept in
//! its own commit.

use quipu_commit::{Answer, IdempotencyRecord};
use quipu_kernel::Tenant;
use quipu_payments::{
    AdjustError, Answered, AttemptError, DecideError, StaffAction, StaffAttempt, StaffCall,
};
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
    /// Begins a decision about `tenant`. The inner `Err` is the answer of an earlier attempt under this key. A
    /// used key with another body is refused even if that body is invalid.
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

    /// Answers with the outcome. A refusal because of the state of a payment or balance is kept too.
    pub(super) async fn end(self, decided: Result<Value, impl Into<Undecided>>) -> Outcome {
        match (decided.map_err(Into::into), self.keyed) {
            (Ok(data), _) => kept_answer::send(Answered { answer: answer(&data), replayed: false }),
            (Err(Undecided::KeyUsed), Some(keyed)) => kept_answer::send(keyed.answer_of_the_winner().await?),
            (Err(Undecided::KeyUsed), None) => Err(AttemptError::InUse.into()),
            (Err(Undecided::Refused(error)), Some(keyed)) => {
                kept_answer::send(keyed.keep(error.to_answer(self.action.at)).await?)
            }
            (Err(Undecided::Refused(error) | Undecided::Failed(error)), _) => Err(error),
        }
    }
}

/// Why a decision was not carried out.
pub(super) enum Undecided {
    /// Another attempt used the key meanwhile.
    KeyUsed,
    /// The state of a payment or balance does not allow it.
    Refused(ApiError),
    /// Any other error; a repeat does not get the same answer.
    Failed(ApiError),
}

impl From<DecideError> for Undecided {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::IdempotencyKeyUsed => Self::KeyUsed,
            DecideError::NotAllowed(_)
            | DecideError::ExceedsPayment(_)
            | DecideError::InsufficientBalance
            | DecideError::OutOfRange => Self::Refused(error.into()),
            DecideError::PaymentNotFound | DecideError::ReceiptNotFound | DecideError::Store(_) => {
                Self::Failed(error.into())
            }
        }
    }
}

impl From<AdjustError> for Undecided {
    fn from(error: AdjustError) -> Self {
        match error {
            AdjustError::IdempotencyKeyUsed => Self::KeyUsed,
            AdjustError::InsufficientBalance | AdjustError::OutOfRange => Self::Refused(error.into()),
            AdjustError::Store(_) => Self::Failed(error.into()),
        }
    }
}

fn answer(data: &Value) -> Answer {
    Answer { status: 200, body: json!({ "success": true, "data": data }).to_string() }
}
