//! Funding and correcting balances.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, IdempotencyRecord, Refusal};
use quipu_kernel::{Clock, Currency, Environment, Fields, MerchantId, Minor, Problems, Tenant};
use quipu_ledger::{PostingError, Transaction};
use quipu_merchants::AuditRecord;
use serde_json::Value;

use crate::{error::AdjustError, staff::recorded::MAX_REASON};

/// A person's order to adjust a balance.
#[derive(Debug, Clone)]
pub struct Adjustment {
    /// The tenant whose balance it is.
    pub tenant: Tenant,
    /// The currency of the balance.
    pub currency: Currency,
    /// The amount to be added, in minor units; negative to take it away.
    pub amount: Minor,
    /// Reason in words, 1 to 500 characters, for the audit log.
    pub reason: String,
}

impl Adjustment {
    /// Reads what staff wrote about a merchant.
    pub fn parse(merchant: MerchantId, body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let environment = fields.required_parsed::<Environment>("environment", &mut problems);
        let currency = fields.required_parsed::<Currency>("currency", &mut problems);
        let amount = fields.required_integer("amount", &mut problems).and_then(|units| {
            let amount = Minor::new(units).ok().filter(|amount| *amount != Minor::ZERO);
            if amount.is_none() {
                problems.add("amount", "must be a signed amount, not zero, of at most 2^53 - 1");
            }
            amount
        });
        let reason = fields.required_text("reason", MAX_REASON, &mut problems).map(str::to_owned);
        let adjustment = || {
            let tenant = Tenant::new(merchant, environment?);
            Some(Self { tenant, currency: currency?, amount: amount?, reason: reason? })
        };
        adjustment().filter(|_| problems.is_empty()).ok_or(problems)
    }
}

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
            Err(error) => Err(AdjustError::Store(error.into())),
        }
    }
}
