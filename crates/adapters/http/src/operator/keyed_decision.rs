//! The common part of all decisions of a person: under an `Idempotency-Key` each is made once, and its answer is
//! kept in its own commit. These keys are separate from the merchant's.

use std::sync::Arc;

use quipu_commit::Answer;
use quipu_kernel::Tenant;
use quipu_merchants::AuditRecord;
use quipu_payments::{
    Answered, AttemptError, Recorded, StaffAction, StaffAttempt, StaffCall, StaffRequest, Undecided,
};
use quipu_signing::sha256_hex;
use serde_json::{Value, json};

use crate::{
    answer::ApiError,
    caller::AuthenticatedOperator,
    kept_answer,
    request::{Call, Outcome},
};

/// A decision: who makes it, and the attempt under its key, if it has one.
pub(super) struct KeyedDecision<'a> {
    pub(super) action: StaffAction<'a>,
    attempt: Option<StaffAttempt>,
}

impl<'a> KeyedDecision<'a> {
    /// The decision about `tenant` that `call` asks for. Its method, path and body are what a repeat is compared
    /// with.
    pub(super) async fn of(
        call: &'a Call,
        staff: &AuthenticatedOperator,
        tenant: Tenant,
        what: StaffCall<'_>,
    ) -> Result<Self, ApiError> {
        let services = &call.state.services;
        let body = call.body().await?;
        // The decision is made when its body is there, which may be long after the head.
        let at = services.clock.now();
        let action = StaffAction { entropy: services.entropy.as_ref(), at, actor: staff.actor() };
        let Some(key) = kept_answer::idempotency_key(call)? else {
            return Ok(Self { action, attempt: None });
        };
        let (method, path) = (call.request.method(), call.request.path());
        let asked = [method.as_str().as_bytes(), b" ", path.as_bytes(), b"\n", &body].concat();
        let request_hash = sha256_hex(&asked);
        let request = StaffRequest { tenant, call: what, key: &key, request_hash, at };
        let (reads, commit) = (Arc::clone(&services.payments), Arc::clone(&services.commit));
        Ok(Self { action, attempt: Some(StaffAttempt::new(reads, commit, request)) })
    }

    /// What the decision's commit records: this line of the audit log, and under a key the answer with this data.
    pub(super) fn recorded(&self, audit: AuditRecord, data: &Value) -> Recorded {
        let kept_answer = self.attempt.as_ref().map(|attempt| attempt.record(answer(data)));
        Recorded { audit, kept_answer }
    }

    /// Makes the decision, unless it was made under this key, and answers with its data. `decide` reads the body
    /// too: a used key with another body is refused even if that body is invalid.
    pub(super) async fn run(
        &self,
        decide: impl AsyncFnOnce() -> Result<Value, Undecided<ApiError>>,
    ) -> Outcome {
        let decide = async || Ok(answer(&decide().await?));
        let kept = |error: &ApiError| Some(error.to_answer(self.action.at));
        kept_answer::send(match &self.attempt {
            Some(attempt) => attempt.run(kept, decide).await?,
            None => Answered { answer: decide().await?, replayed: false },
        })
    }
}

impl From<ApiError> for Undecided<ApiError> {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl From<Undecided<Self>> for ApiError {
    fn from(undecided: Undecided<Self>) -> Self {
        match undecided {
            Undecided::KeyUsed => AttemptError::InUse.into(),
            Undecided::Refused(error) | Undecided::Failed(error) => error,
        }
    }
}

fn answer(data: &Value) -> Answer {
    Answer::success(json!({ "success": true, "data": data }).to_string())
}
