//! What every decision of a person leaves behind, and how its refusals are told.

use quipu_commit::{CommitError, IdempotencyRecord, Refusal};
use quipu_ledger::PostingError;
use quipu_merchants::{AuditRecord, StoreUnavailable};

use crate::error::DecideError;

/// The line of the audit log, and the answer that is kept under the person's key, if there is one.
pub type Recorded = (AuditRecord, Option<IdempotencyRecord>);

/// What a refused commit means to the person who decided.
pub(crate) fn refused(error: CommitError) -> DecideError {
    match error {
        CommitError::Refused(Refusal::Posting(PostingError::InsufficientFunds)) => {
            DecideError::InsufficientBalance
        }
        CommitError::Refused(Refusal::Posting(PostingError::OutOfRange)) => DecideError::OutOfRange,
        CommitError::Refused(Refusal::IdempotencyKeyUsed) => DecideError::IdempotencyKeyUsed,
        CommitError::Refused(refusal) => DecideError::Store(StoreUnavailable::Failed(refusal.to_string())),
        CommitError::Store(error) => error.into(),
    }
}
