//! Calls of staff under an idempotency key, each carried out once, whether they come over HTTP or from the shell.

use std::{fmt, sync::Arc};

use quipu_commit::{
    Answer, Changes, Commit, CommitError, IdempotencyKey, IdempotencyRecord, KeptAnswer, KeyOwner, Refusal,
};
use quipu_kernel::{MerchantId, PaymentId, Problems, StoreError, Tenant, Timestamp};

use crate::{
    create::keyed::Answered, error::DecideError, payment::decision::ManualDecision, ports::PaymentReads,
};

/// What staff call for. A key of staff is bound to it, so that one key used for two payments makes two decisions.
#[derive(Debug, Clone, Copy)]
pub enum StaffCall<'a> {
    /// A decision about a payment.
    Decide(ManualDecision, &'a PaymentId),
    /// A refund of a deposit.
    Refund(&'a PaymentId),
    /// A decision about the receipt with this identifier.
    Resolve(&'a str),
    /// An adjustment of a merchant's balance.
    Adjust(MerchantId),
}

/// Written like the path of the call in the operator's interface.
impl fmt::Display for StaffCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decide(decision, id) => write!(f, "payments/{id}/{}", decision.as_str()),
            Self::Refund(id) => write!(f, "payments/{id}/refunds"),
            Self::Resolve(id) => write!(f, "receipts/{id}/resolve"),
            Self::Adjust(merchant) => write!(f, "merchants/{merchant}/adjustments"),
        }
    }
}

/// A call with its key, and what a repeat is compared with.
#[derive(Debug)]
pub struct StaffRequest<'a> {
    /// The tenant that the call is about.
    pub tenant: Tenant,
    /// What is called for.
    pub call: StaffCall<'a>,
    /// The key, as its caller wrote it.
    pub key: &'a IdempotencyKey,
    /// Hex of SHA-256 over the whole call, the same for a repeat.
    pub request_hash: String,
    /// The time of the call.
    pub at: Timestamp,
}

/// One attempt of a member of staff under a key.
pub struct StaffAttempt {
    reads: Arc<dyn PaymentReads>,
    commit: Arc<dyn Commit>,
    tenant: Tenant,
    key_of_call: IdempotencyKey,
    bare_key: IdempotencyKey,
    request_hash: String,
    at: Timestamp,
}

/// Why an attempt has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AttemptError {
    /// The key was used for the same call with another body.
    #[error("the idempotency key was used with another request body")]
    Mismatch,
    /// Another attempt used the key, and its answer is not there to be read.
    #[error(
        "the first request with this idempotency key is still running, or its answer cannot be given yet: wait a second \
         and send it again"
    )]
    InUse,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a decision under a key was not carried out.
#[derive(Debug)]
pub enum Undecided<E> {
    /// Another attempt used the key meanwhile.
    KeyUsed,
    /// The state of a payment or balance does not allow it.
    Refused(E),
    /// Any other error; a repeat does not get the same answer.
    Failed(E),
}

impl<E: From<DecideError>> From<DecideError> for Undecided<E> {
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

impl<E: From<Problems>> From<Problems> for Undecided<E> {
    fn from(problems: Problems) -> Self {
        Self::Failed(problems.into())
    }
}

impl StaffAttempt {
    /// The attempt that this request names.
    pub fn new(reads: Arc<dyn PaymentReads>, commit: Arc<dyn Commit>, request: StaffRequest<'_>) -> Self {
        let StaffRequest { tenant, call, key, request_hash, at } = request;
        let (key_of_call, bare_key) = (key.of_call(call), key.clone());
        Self { reads, commit, tenant, key_of_call, bare_key, request_hash, at }
    }

    /// The answer of an earlier attempt, if there was one. It is looked up before the decision is checked,
    /// which may no longer be allowed once it was made.
    ///
    /// Earlier versions of the gateway kept answers under the bare key. Such an answer does not tell which call it
    /// belongs to, so whatever is not that very call again is refused while it is kept: nothing happens twice in an upgrade.
    pub async fn repeat(&self) -> Result<Option<Answered>, AttemptError> {
        for key in [&self.key_of_call, &self.bare_key] {
            let kept = self.reads.kept_key(self.tenant, KeyOwner::Operator, key, self.at).await?;
            let Some(kept) = kept else { continue };
            if kept.body_hash != self.request_hash {
                return Err(AttemptError::Mismatch);
            }
            let missing = || StoreError::Failed("a kept answer to a call of staff has no body".to_owned());
            return Ok(Some(Answered { answer: kept.answer.ok_or_else(missing)?, replayed: true }));
        }
        Ok(None)
    }

    /// The record that keeps the answer in the commit of the call.
    pub fn record(&self, answer: Answer) -> IdempotencyRecord {
        IdempotencyRecord {
            owner: KeyOwner::Operator,
            key: self.key_of_call.clone(),
            body_hash: self.request_hash.clone(),
            payment_id: None,
            answer: KeptAnswer::Given(answer),
            expires_at: self.at.plus(IdempotencyRecord::KEPT_FOR),
        }
    }

    /// Makes the decision once: an earlier attempt's answer stands, and `decide` does not run. `decide` keeps its
    /// answer in its own commit, with [`record`](Self::record).
    ///
    /// Where the state refuses the decision, `kept` gives the answer that repeats get too. If it gives none,
    /// nothing is kept.
    pub async fn run<E: From<AttemptError>>(
        &self,
        kept: impl FnOnce(&E) -> Option<Answer>,
        decide: impl AsyncFnOnce() -> Result<Answer, Undecided<E>>,
    ) -> Result<Answered, E> {
        if let Some(repeated) = self.repeat().await? {
            return Ok(repeated);
        }
        match decide().await {
            Ok(answer) => Ok(Answered { answer, replayed: false }),
            Err(Undecided::KeyUsed) => Ok(self.answer_of_the_winner().await?),
            Err(Undecided::Refused(error)) => match kept(&error) {
                Some(answer) => Ok(self.keep(answer).await?),
                // Another attempt under the same key may have been first.
                None => self.repeat().await?.ok_or(error),
            },
            Err(Undecided::Failed(error)) => Err(error),
        }
    }

    /// The answer of the attempt that used the key in the meantime, as a commit has found out.
    async fn answer_of_the_winner(&self) -> Result<Answered, AttemptError> {
        self.repeat().await?.ok_or(AttemptError::InUse)
    }

    /// Keeps a refusal because of the merchant's state, so that a repeat gets it again.
    pub async fn keep(&self, answer: Answer) -> Result<Answered, AttemptError> {
        let mut changes = Changes::new(self.tenant, self.at);
        changes.idempotency = Some(self.record(answer.clone()));
        match self.commit.commit(changes).await {
            Ok(_) => Ok(Answered { answer, replayed: false }),
            Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => self.answer_of_the_winner().await,
            Err(error) => Err(AttemptError::Store(error.into())),
        }
    }
}
