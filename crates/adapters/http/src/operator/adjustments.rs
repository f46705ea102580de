//! Pre-funding and corrections of balances.

use quipu_kernel::{Currency, Fields, MerchantId, Minor, Problems, Tenant};
use serde_json::{Value, json};

use super::{checked, existing_merchant, tenant_of};
use crate::{
    caller::Staff,
    dispatch::{Call, Outcome},
    envelope,
    error::ApiError,
};

const MAX_REASON: usize = 500;

struct Adjustment {
    tenant: Tenant,
    currency: Currency,
    amount: Minor,
    reason: String,
}

/// `POST /operator/v1/merchants/{id}/adjustments`; answers the balance afterwards.
pub(crate) async fn adjust(call: Call, staff: Staff) -> Outcome {
    let merchant = existing_merchant(&call).await?;
    let Adjustment { tenant, currency, amount, reason } = parse(merchant, &call.json()?)?;
    let after = json!({
        "environment": tenant.environment(),
        "currency": currency,
        "amount": amount,
        "reason": reason,
    });
    let audit = call.state.onboarding.audit(call.now, staff.actor(), "balance.adjust", merchant);
    let audit = audit.about(format!("balance/{tenant}/{currency}")).changing(Value::Null, after);
    let adjustment_id = audit.id.clone();
    call.state.services.adjust.run(tenant, currency, amount, audit).await?;
    let balance = call.state.services.ledger.balance(tenant, currency).await?;
    envelope::one(json!({
        "adjustment_id": adjustment_id,
        "merchant_id": merchant,
        "environment": tenant.environment(),
        "currency": currency,
        "amount": amount,
        "reason": reason,
        "available_amount": balance.available.to_string(),
        "frozen_amount": balance.frozen.to_string(),
    }))
}

fn parse(merchant: MerchantId, body: &Value) -> Result<Adjustment, ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &fields, &mut problems);
    let currency = fields.required_parsed::<Currency>("currency", &mut problems);
    if !fields.has("amount") {
        problems.add("amount", "is required");
    }
    let amount = fields.integer("amount", &mut problems).and_then(|units| {
        let amount = Minor::new(units).ok().filter(|amount| *amount != Minor::ZERO);
        if amount.is_none() {
            problems.add("amount", "must be a signed amount, not zero, of at most 2^53 - 1");
        }
        amount
    });
    let reason = fields.required_text("reason", MAX_REASON, &mut problems).map(str::to_owned);
    let adjustment =
        || Some(Adjustment { tenant: tenant?, currency: currency?, amount: amount?, reason: reason? });
    checked(adjustment(), problems)
}
