//! API keys.

use quipu_kernel::Problems;
use quipu_merchants::{ApiKeyRecord, NewApiKey};
use serde_json::{Value, json};

use super::{existing_merchant, merchant_of, of_part};
use crate::{
    answer::{ErrorCode, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/merchants/{id}/api-keys`
pub(crate) async fn issue(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let new = NewApiKey::parse(merchant, &call.json().await?, call.now)?;
    let issued = call.state.services.onboarding.issue_api_key(new, staff.actor()).await?;
    let mut shown = shown(&issued.record);
    shown["key"] = json!(issued.secret.expose());
    envelope::one(shown)
}

/// `GET /operator/v1/merchants/{id}/api-keys`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    problems.into_result()?;
    let mut keys = call.state.services.directory.api_keys(existing_merchant(&call).await?.id).await?;
    keys.retain(|key| created.contains(key.created_at));
    // A merchant has few keys, so a page is cut from the list of all.
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let rows = keys.iter().skip(skipped).take(page.limit() as usize).map(shown).collect();
    envelope::many(rows, keys.len() as u64, page)
}

/// `DELETE /operator/v1/merchants/{id}/api-keys/{key_id}`
pub(crate) async fn revoke(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = merchant_of(&call)?;
    let key_id = call.segment("key_id");
    let revoked = call.state.services.onboarding.revoke_api_key(merchant, key_id, staff.actor()).await;
    revoked.map_err(of_part(ErrorCode::ApiKeyNotFound, "API key"))?;
    envelope::one(json!({ "key_id": key_id, "revoked": true }))
}

fn shown(key: &ApiKeyRecord) -> Value {
    let mut shown = key.shown();
    shown["merchant_id"] = json!(key.tenant.merchant());
    shown
}
