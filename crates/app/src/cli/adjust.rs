//! `quipu merchant adjust`: happens once, however often it is run with the same key.

use anyhow::Result;
use clap::Args;
use quipu_kernel::{Currency, Environment, MerchantId};
use quipu_ledger::LedgerReads;
use quipu_payments::{Adjustment, DecideError, StaffCall};
use serde_json::{Value, json};

use super::{
    keyed_decision::{Key, KeyedDecision},
    session, values,
};
use crate::wire::Foundation;

#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// test or live
    #[arg(long)]
    environment: Environment,
    /// Three letters, such as MXN
    #[arg(long)]
    currency: Currency,
    /// Minor units, with a sign where they are taken away
    #[arg(long, allow_negative_numbers = true, value_parser = values::integer)]
    amount: i64,
    /// Shown in the audit log
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    key: Key,
}

/// Makes the adjustment and prints the result with the new balance.
pub(super) async fn run(foundation: &Foundation, id: MerchantId, wanted: Wanted) -> Result<()> {
    let Wanted { environment, currency, amount, reason, key } = wanted;
    let body =
        json!({ "environment": environment, "currency": currency, "amount": amount, "reason": reason });
    let adjustment = Adjustment::parse(id, &body).map_err(session::explained)?;
    session::existing(foundation, id).await?;
    let tenant = adjustment.tenant();
    let asked = json!(["merchant adjust", tenant.to_string(), currency, amount, reason]);
    let keyed = KeyedDecision::of(foundation, tenant, StaffCall::Adjust(id), &key, &asked)?;
    let mut answer = keyed.run(async || Ok(make(foundation, &adjustment, &keyed).await?)).await?;
    // The adjustment is made, whether or not its balance can be read.
    if let Ok(balance) = foundation.store.balance(tenant, currency).await {
        answer["available"] = json!(balance.available);
        answer["frozen"] = json!(balance.frozen);
    }
    keyed.print(&answer)
}

async fn make(
    foundation: &Foundation,
    adjustment: &Adjustment,
    keyed: &KeyedDecision<'_>,
) -> Result<Value, DecideError> {
    let tenant = adjustment.tenant();
    let answer = json!({
        "merchant_id": tenant.merchant(),
        "environment": tenant.environment(),
        "currency": adjustment.currency(),
        "amount": adjustment.amount(),
        "idempotency_key": keyed.key.as_str(),
    });
    let recorded = keyed.recorded(keyed.action.adjusted(adjustment), &answer);
    foundation.adjust().run(adjustment, recorded).await?;
    Ok(answer)
}
