//! Funding and correcting balances.

use std::sync::Arc;

use quipu_commit::{Changes, Commit};
use quipu_kernel::{Clock, Currency, Environment, Fields, MerchantId, Minor, Problems, Tenant};
use quipu_ledger::Transaction;
use serde_json::Value;

use crate::{error::DecideError, payment::MAX_REASON, staff::recorded::Recorded};

/// A person's order to adjust a balance, by any amount but zero.
#[derive(Debug, Clone)]
pub struct Adjustment {
    tenant: Tenant,
    currency: Currency,
    amount: Minor,
    reason: String,
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
        problems.admit(adjustment())
    }

    /// The tenant whose balance it is.
    pub const fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The currency of the balance.
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The amount to be added, in minor units; negative to take it away.
    pub const fn amount(&self) -> Minor {
        self.amount
    }

    /// Reason in words, 1 to 500 characters, for the audit log.
    pub fn reason(&self) -> &str {
        &self.reason
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

    /// Carries `adjustment` out on the tenant's available balance. What is `recorded` of it is in the same
    /// commit.
    pub async fn run(&self, adjustment: &Adjustment, recorded: Recorded) -> Result<(), DecideError> {
        let mut changes = Changes::new(adjustment.tenant, self.clock.now());
        changes.transactions.push(Transaction::adjustment(adjustment.currency, adjustment.amount));
        recorded.add_to(&mut changes);
        self.commit.commit(changes).await?;
        Ok(())
    }
}
