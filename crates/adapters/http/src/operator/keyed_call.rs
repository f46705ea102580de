//! Calls of staff under an `Idempotency-Key`, each carried out once. These keys are separate from the
//! merchant's.

use std::sync::Arc;

use quipu_commit::{
    Answer, Audience, Changes, CommitError, IdempotencyKey, IdempotencyRecord, KeptAnswer, Refusal,
};
use quipu_kernel::{Tenant, Timestamp};
use quipu_payments::{Answered, CreateError};
use quipu_signing::sha256_hex;

use crate::{call::Call, error::ApiError, state::AppState};

/// One attempt of a member of staff under its key.
pub(super) struct KeyedCall {
    state: Arc<AppState>,
    tenant: Tenant,
    key: IdempotencyKey,
    body_hash: String,
    now: Timestamp,
}

impl KeyedCall {
    pub(super) async fn new(call: &Call, tenant: Tenant, key: IdempotencyKey) -> Result<Self, ApiError> {
        let (method, path) = (call.request.method(), call.request.path());
        let asked = [method.as_str().as_bytes(), b" ", path.as_bytes(), b"\n", &call.body().await?].concat();
        let body_hash = sha256_hex(&asked);
        Ok(Self { state: Arc::clone(&call.state), tenant, key, body_hash, now: call.now })
    }

    /// The answer of an earlier attempt, if there was one.
    pub(super) async fn repeat(&self) -> Result<Option<Answered>, ApiError> {
        let services = &self.state.services;
        let kept =
            services.payments.kept_answer(self.tenant, Audience::Operator, &self.key, self.now).await?;
        let Some(kept) = kept else { return Ok(None) };
        if kept.body_hash != self.body_hash {
            return Err(CreateError::IdempotencyKeyMismatch.into());
        }
        let missing = || ApiError::internal("reading a kept answer", &"it has no body");
        let answer = kept.answer.ok_or_else(missing)?;
        Ok(Some(Answered { answer, replayed: true }))
    }

    /// The record that keeps an answer in a commit.
    pub(super) fn record(&self, answer: &Answer) -> IdempotencyRecord {
        IdempotencyRecord {
            audience: Audience::Operator,
            key: self.key.clone(),
            body_hash: self.body_hash.clone(),
            payment_id: None,
            answer: KeptAnswer::Given(answer.clone()),
            expires_at: self.now.plus(IdempotencyRecord::KEPT_FOR),
        }
    }

    /// Keeps a refusal because of the merchant's state, so that a repeat gets it again.
    pub(super) async fn keep(&self, refusal: &ApiError) -> Result<Answered, ApiError> {
        let answer = refusal.to_answer(self.now);
        let mut changes = Changes::new(self.tenant, self.now);
        changes.idempotency = Some(self.record(&answer));
        match self.state.services.commit.commit(changes).await {
            Ok(_) => Ok(Answered { answer, replayed: false }),
            Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => {
                self.repeat().await?.ok_or_else(ApiError::idempotency_key_in_use)
            }
            Err(CommitError::Refused(refusal)) => Err(ApiError::internal("keeping an answer", &refusal)),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}
