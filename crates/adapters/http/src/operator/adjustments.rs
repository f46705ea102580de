//! Pre-funding and corrections of balances.

use quipu_commit::{Answer, IdempotencyRecord};
use quipu_kernel::{Environment, Tenant};
use quipu_merchants::AuditRecord;
use quipu_payments::{AdjustError, Adjustment, Answered, StaffCall};
use serde_json::json;

use super::{existing_merchant, keyed_call};
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    error::ApiError,
    kept_answer,
};

/// `POST /operator/v1/merchants/{id}/adjustments`, once under an `Idempotency-Key`.
pub(crate) async fn adjust(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let Some(key) = kept_answer::idempotency_key(&call)? else {
        let adjustment = Adjustment::parse(merchant, &call.json().await?)?;
        let (answer, audit) = prepare(&call, &staff, &adjustment)?;
        apply(&call, &adjustment, audit, None).await?;
        return kept_answer::send(Answered { answer, replayed: false });
    };
    call.body().await?;
    // Another body under a used key is one, also if it cannot be parsed.
    let parsed = call.json().await.and_then(|body| Ok(Adjustment::parse(merchant, &body)?));
    let tenant = parsed.as_ref().map_or(Tenant::new(merchant, Environment::Test), |it| it.tenant);
    let keyed = keyed_call::attempt(&call, tenant, StaffCall::Adjust(merchant), &key).await?;
    if let Some(repeated) = keyed.repeat().await? {
        return kept_answer::send(repeated);
    }
    let adjustment = parsed?;
    let (answer, audit) = prepare(&call, &staff, &adjustment)?;
    let applied = apply(&call, &adjustment, audit, Some(keyed.record(answer.clone()))).await;
    match applied {
        Ok(()) => kept_answer::send(Answered { answer, replayed: false }),
        Err(AdjustError::IdempotencyKeyUsed) => kept_answer::send(keyed.answer_of_the_winner().await?),
        Err(error @ AdjustError::Store(_)) => Err(error.into()),
        Err(error) => {
            let refusal = ApiError::from(error).to_answer(call.now);
            kept_answer::send(keyed.keep(refusal).await?)
        }
    }
}

/// The answer, written before the commit that keeps it, and the entry of the audit log.
fn prepare(
    call: &Call,
    staff: &AuthenticatedOperator,
    adjustment: &Adjustment,
) -> Result<(Answer, AuditRecord), ApiError> {
    let Adjustment { tenant, currency, amount, reason } = adjustment;
    let onboarding = &call.state.onboarding;
    let audit = onboarding.audit_of_adjustment(*tenant, *currency, *amount, reason, staff.actor());
    let data = json!({
        "adjustment_id": audit.id,
        "merchant_id": tenant.merchant(),
        "environment": tenant.environment(),
        "currency": currency,
        "amount": amount,
        "reason": reason,
        "created_at": call.now,
    });
    let body = serde_json::to_string(&json!({ "success": true, "data": data }));
    let body = body.map_err(|error| ApiError::internal("writing an answer", &error))?;
    Ok((Answer { status: 200, body }, audit))
}

async fn apply(
    call: &Call,
    adjustment: &Adjustment,
    audit: AuditRecord,
    record: Option<IdempotencyRecord>,
) -> Result<(), AdjustError> {
    let Adjustment { tenant, currency, amount, .. } = *adjustment;
    call.state.services.adjust.run(tenant, currency, amount, audit, record).await
}
