//! Creating a payment once, however many times it is requested with one idempotency key.
//!
//! Three parts work together: [`super::running_keys`] knows which keys this node is working on; the kept
//! answer has the outcome of a key whose request has ended; the commit refuses a key that another node has
//! used in the meantime, so that two nodes never create two payments with one key.

use std::sync::Arc;

use quipu_commit::{Answer, Changes, CommitError, IdempotencyKey, KeptAnswer, KeyOwner, Nonce, Refusal};
use quipu_kernel::{PaymentId, Tenant};

use crate::{
    create::{Attempt, CreatePayment, broken, unknown::Subject},
    error::CreateError,
    payment::view,
    ports::KeptKey,
    request::{creation::Creation, creation_key::CreationKey},
};

/// Writes the refusal of a creation: the HTTP adapter's part in an idempotent creation.
pub trait RefusalForm: Send + Sync {
    /// The answer with this error. It must contain no secret, because it is kept.
    fn refused(&self, error: &CreateError) -> Answer;
}

/// The key with which a creation happens only once, and the parts that a repeat is compared with.
#[derive(Clone)]
pub struct KeyedRequest {
    /// The merchant's `Idempotency-Key`.
    pub key: IdempotencyKey,
    /// Hex of SHA-256 over the request's raw body.
    pub body_hash: String,
    /// Writes refusals.
    pub form: Arc<dyn RefusalForm>,
}

/// An answer, first or repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer, byte for byte.
    pub answer: Answer,
    /// Whether it was given before.
    pub replayed: bool,
}

impl CreatePayment {
    /// Creates a payment once: a repeat with the same key gets the first answer again, refusals for business
    /// reasons included. `Err` is only returned for outcomes that are never kept: `Invalid`,
    /// `IdempotencyKeyInUse`, `IdempotencyKeyMismatch`, `NonceUsed`, `OutcomeUnknown` and `Store`.
    pub async fn run_keyed(
        &self,
        creation: Creation,
        request: KeyedRequest,
    ) -> Result<Answered, CreateError> {
        let mut subject = self.unknown.subject(&creation);
        let outcome = self.attempt_keyed(creation, request, &mut subject).await;
        self.unknown.settle_outcome(&subject, outcome)
    }

    async fn attempt_keyed(
        &self,
        creation: Creation,
        request: KeyedRequest,
        subject: &mut Subject,
    ) -> Result<Answered, CreateError> {
        let (tenant, is_signed) = (creation.tenant, creation.nonce.is_some());
        let running = self.running.enter(tenant, &request.key, creation.nonce.as_ref());
        let repeated = match &running {
            Ok(_) => self.kept_answer(tenant, &request).await.transpose(),
            Err(CreateError::NonceUsed) => return Err(CreateError::NonceUsed),
            Err(CreateError::IdempotencyKeyInUse) => Some(self.answer_if_finished(tenant, &request).await),
            Err(error) => Some(Err(error.clone())),
        };
        match repeated {
            Some(Ok(answer)) => {
                self.burn_left(tenant, creation.nonce).await?;
                return Ok(answer);
            }
            Some(Err(error)) => return self.burn_after(tenant, subject, creation.nonce, error).await,
            None => {}
        }
        match self.attempt(creation, Some(self.key_of(&request)), subject).await {
            Attempt::Created(payment, kept) => {
                let answer = kept.unwrap_or_else(|| view::creation_answer(&payment));
                Ok(Answered { answer, replayed: false })
            }
            Attempt::KeyUsed => self.answer_of_the_winner(tenant, &request).await,
            Attempt::Refused(error, nonce) if error.is_kept() => {
                let is_burnt = is_signed && nonce.is_none();
                let kept = self.keep(tenant, &request, &error, nonce).await;
                kept.map_err(|error| if is_burnt { unrepeatable(error) } else { error })
            }
            Attempt::Refused(error, nonce) => self.burn_after(tenant, subject, nonce, error).await,
        }
    }

    /// What is kept under this key, which was used for the same request or not at all.
    async fn kept(&self, tenant: Tenant, request: &KeyedRequest) -> Result<Option<KeptKey>, CreateError> {
        let now = self.clock.now();
        let kept = self.reads.kept_key(tenant, KeyOwner::Merchant, &request.key, now).await?;
        match kept {
            Some(kept) if kept.body_hash != request.body_hash => Err(CreateError::IdempotencyKeyMismatch),
            kept => Ok(kept),
        }
    }

    /// The earlier answer under this key, if there is one.
    async fn kept_answer(
        &self,
        tenant: Tenant,
        request: &KeyedRequest,
    ) -> Result<Option<Answered>, CreateError> {
        let Some(kept) = self.kept(tenant, request).await? else { return Ok(None) };
        match (kept.answer, kept.payment_id) {
            (Some(answer), _) => Ok(Some(Answered { answer, replayed: true })),
            (None, Some(id)) => self.answer_of_unfinished(tenant, request, id).await.map(Some),
            (None, None) => Err(broken(format!(
                "the kept answer of key {:?} of {tenant} has neither a body nor a payment",
                request.key.as_str()
            ))),
        }
    }

    /// The earlier answer under a key that another request holds. That one may be a repeat itself, of a first
    /// request that has ended.
    async fn answer_if_finished(
        &self,
        tenant: Tenant,
        request: &KeyedRequest,
    ) -> Result<Answered, CreateError> {
        let kept = self.kept(tenant, request).await?.ok_or(CreateError::IdempotencyKeyInUse)?;
        let answer = kept.answer.ok_or(CreateError::IdempotencyKeyInUse)?;
        Ok(Answered { answer, replayed: true })
    }

    /// The answer to a creation whose outcome was unknown: the payment if the outcome is known by now,
    /// otherwise that it is still unknown.
    async fn answer_of_unfinished(
        &self,
        tenant: Tenant,
        request: &KeyedRequest,
        id: PaymentId,
    ) -> Result<Answered, CreateError> {
        let payment = self.reads.payment(tenant, &id).await?;
        let payment =
            payment.ok_or_else(|| broken(format!("a kept answer of {tenant} names no payment: {id}")))?;
        if payment.awaits_instructions() {
            let cause = "an earlier attempt's outcome is still unknown".to_owned();
            let answer = request.form.refused(&CreateError::OutcomeUnknown { id, cause });
            return Ok(Answered { answer, replayed: true });
        }
        match self.answer_as_it_stands(Box::new(payment), Some(self.key_of(request))).await {
            Attempt::Created(payment, kept) => {
                let answer = kept.unwrap_or_else(|| view::creation_answer(&payment));
                Ok(Answered { answer, replayed: true })
            }
            Attempt::Refused(error, _) => Err(error),
            Attempt::KeyUsed => {
                let answer = self.kept(tenant, request).await?.and_then(|kept| kept.answer);
                let answer = answer.ok_or_else(|| no_answer(tenant, request))?;
                Ok(Answered { answer, replayed: true })
            }
        }
    }

    /// The answer under a key that a commit found used, because another request was first. That commit has used
    /// up the nonce.
    async fn answer_of_the_winner(
        &self,
        tenant: Tenant,
        request: &KeyedRequest,
    ) -> Result<Answered, CreateError> {
        let kept = self.kept_answer(tenant, request).await.map_err(unrepeatable)?;
        kept.ok_or_else(|| no_answer(tenant, request))
    }

    /// Keeps a refusal, so that a repeat gets it again even if the same request would succeed by then.
    async fn keep(
        &self,
        tenant: Tenant,
        request: &KeyedRequest,
        error: &CreateError,
        nonce: Option<Nonce>,
    ) -> Result<Answered, CreateError> {
        let answer = request.form.refused(error);
        let mut changes = Changes::new(tenant, self.clock.now());
        changes.idempotency = Some(self.key_of(request).record(None, KeptAnswer::Given(answer.clone())));
        changes.nonce = nonce;
        match self.commit.commit(changes).await {
            Ok(_) => Ok(Answered { answer, replayed: false }),
            Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => {
                self.answer_of_the_winner(tenant, request).await
            }
            Err(CommitError::Refused(Refusal::NonceUsed)) => Err(CreateError::NonceUsed),
            Err(CommitError::Refused(refusal)) => {
                let key = request.key.as_str();
                Err(broken(format!("the kept answer of key {key:?} of {tenant} was refused: {refusal}")))
            }
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    fn key_of(&self, request: &KeyedRequest) -> CreationKey {
        CreationKey::new(request.key.clone(), request.body_hash.clone(), self.clock.now())
    }
}

fn no_answer(tenant: Tenant, request: &KeyedRequest) -> CreateError {
    broken(format!("the used key {:?} of {tenant} has no kept answer", request.key.as_str()))
}

/// Replaces an error that invites the caller to send the same call again, when its nonce is used up. The
/// answer is that the key is in use, so the caller signs the call anew and repeats it with the same key.
fn unrepeatable(error: CreateError) -> CreateError {
    if error.invites_repeat() { CreateError::IdempotencyKeyInUse } else { error }
}
