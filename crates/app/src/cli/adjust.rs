//! `quipu merchant adjust`: happens once, however often it is run with the same key.

use anyhow::Result;
use clap::Args;
use quipu_kernel::{Currency, Environment, MerchantId, Minor, Tenant};
use quipu_ledger::LedgerReads;
use quipu_merchants::Actor;
use quipu_payments::StaffCall;
use serde_json::{Value, json};

use super::{
    keyed_decision::{Key, KeyedDecision},
    session, values,
};
use crate::wire::Foundation;

#[derive(Debug, Args)]
pub(super) struct Adjustment {
    /// test or live
    #[arg(long)]
    environment: Environment,
    /// Three letters, such as MXN
    #[arg(long)]
    currency: Currency,
    /// Minor units, with a sign where they are taken away
    #[arg(long, allow_negative_numbers = true, value_parser = values::signed_amount)]
    amount: Minor,
    /// Shown in the audit log
    #[arg(long, value_parser = values::reason)]
    reason: String,
    #[command(flatten)]
    key: Key,
}

/// Makes the adjustment and prints the result with the new balance.
pub(super) async fn run(foundation: &Foundation, id: MerchantId, adjustment: Adjustment) -> Result<()> {
    session::existing(foundation, id).await?;
    let Adjustment { environment, currency, amount, reason, key } = &adjustment;
    let tenant = Tenant::new(id, *environment);
    let words = json!(["merchant adjust", tenant.to_string(), currency, amount, reason]).to_string();
    let keyed = KeyedDecision::begin(foundation, tenant, StaffCall::Adjust(id), key, &words)?;
    let mut answer = match keyed.repeated().await? {
        Some(answer) => answer,
        None => make(foundation, tenant, &adjustment, &keyed).await?,
    };
    // The adjustment is made, whether or not its balance can be read.
    if let Ok(balance) = foundation.store.balance(tenant, *currency).await {
        answer["available"] = json!(balance.available);
        answer["frozen"] = json!(balance.frozen);
    }
    keyed.print(&answer)
}

async fn make(
    foundation: &Foundation,
    tenant: Tenant,
    Adjustment { environment, currency, amount, reason, .. }: &Adjustment,
    keyed: &KeyedDecision<'_>,
) -> Result<Value> {
    let answer = json!({
        "merchant_id": tenant.merchant(),
        "environment": environment,
        "currency": currency,
        "amount": amount,
        "idempotency_key": keyed.key.as_str(),
    });
    let onboarding = foundation.onboarding();
    let audit = onboarding.audit_of_adjustment(tenant, *currency, *amount, reason, Actor::shell());
    let record = Some(keyed.keeps(&answer));
    let made = foundation.adjust().run(tenant, *currency, *amount, audit, record).await;
    keyed.outcome(made.map(|()| answer)).await
}
