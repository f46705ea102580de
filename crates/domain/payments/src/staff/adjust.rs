//! Funding and correcting balances.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, IdempotencyRecord, Refusal};
use quipu_kernel::{Clock, Currency, Minor, StoreError, Tenant};
use quipu_ledger::{PostingError, Transaction};
use quipu_merchants::AuditRecord;

use crate::error::AdjustError;

/// Adjusts balances for the operator.
pub struct AdjustBalance {
    commit: Arc<dyn Commit>,
    clock: Arc<dyn Clock>,
}

impl AdjustBalance {
    /// The use case over these ports.
    pub fn new(commit: Arc<dyn Commit>, clock: Arc<dyn Clock>) -> Self {
        Self { commit, clock }
    }

    /// Adds `amount` (signed) to the tenant's available balance, with the audit line that tells of it and, if
    /// the call has a key, the answer that is kept for a repeat under it.
    pub async fn run(
        &self,
        tenant: Tenant,
        currency: Currency,
        amount: Minor,
        audit: AuditRecord,
        answer: Option<IdempotencyRecord>,
    ) -> Result<(), AdjustError> {
        if amount == Minor::ZERO {
            return Err(AdjustError::Zero);
        }
        let mut changes = Changes::new(tenant, self.clock.now());
        changes.transactions.push(Transaction::adjustment(currency, amount));
        changes.add(audit);
        changes.idempotency = answer;
        match self.commit.commit(changes).await {
            Ok(_) => Ok(()),
            Err(CommitError::Refused(Refusal::Posting(PostingError::InsufficientFunds))) => {
                Err(AdjustError::InsufficientBalance)
            }
            Err(CommitError::Refused(Refusal::Posting(PostingError::OutOfRange))) => {
                Err(AdjustError::OutOfRange)
            }
            Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => Err(AdjustError::IdempotencyKeyUsed),
            Err(CommitError::Refused(refusal)) => {
                Err(AdjustError::Store(StoreError::Failed(refusal.to_string())))
            }
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }
}
