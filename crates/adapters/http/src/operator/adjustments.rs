//! Pre-funding and corrections of balances.

use quipu_kernel::{Environment, Tenant};
use quipu_merchants::AuditRecord;
use quipu_payments::{Adjustment, DecideError, StaffCall, Undecided};
use serde_json::{Value, json};

use super::{existing_merchant, keyed_decision::KeyedDecision};
use crate::{
    answer::{ApiError, ErrorCode},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/merchants/{id}/adjustments`, once under an `Idempotency-Key`.
pub(crate) async fn adjust(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    // The body says which environment it is; staff's keys are the same for both.
    let tenant = Tenant::new(merchant, Environment::Live);
    let keyed = KeyedDecision::of(&call, &staff, tenant, StaffCall::Adjust(merchant)).await?;
    keyed
        .run(async || {
            let adjustment = Adjustment::parse(merchant, &call.json().await?)?;
            let audit = keyed.action.adjusted(&adjustment);
            let data = shown(&adjustment, &audit);
            let recorded = keyed.recorded(audit, &data);
            call.state.services.adjust.run(&adjustment, recorded).await.map_err(in_words_of_adjustment)?;
            Ok(data)
        })
        .await
}

/// The refusal of an adjustment, which names what the balance does not cover.
fn in_words_of_adjustment(error: DecideError) -> Undecided<ApiError> {
    if !matches!(error, DecideError::InsufficientBalance) {
        return error.into();
    }
    let message = "the available balance does not cover the adjustment";
    Undecided::Refused(ApiError::refused(ErrorCode::InsufficientBalance, message))
}

fn shown(adjustment: &Adjustment, audit: &AuditRecord) -> Value {
    json!({
        "adjustment_id": audit.id,
        "merchant_id": adjustment.tenant().merchant(),
        "environment": adjustment.tenant().environment(),
        "currency": adjustment.currency(),
        "amount": adjustment.amount(),
        "reason": adjustment.reason(),
        "created_at": audit.at,
    })
}
