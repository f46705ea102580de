//! API keys.

use quipu_kernel::{Fields, MerchantId, Problems, Timestamp};
use quipu_merchants::{ApiKeyRecord, NewApiKey, RateLimits, Scope, Scopes};
use serde_json::{Value, json};

use super::{checked, existing_merchant, merchant_of, of_part, read_expiry, tenant_of};
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    code::ErrorCode,
    envelope,
    error::ApiError,
    v1::auth::read_scopes,
};

/// `POST /operator/v1/merchants/{id}/api-keys`
pub(crate) async fn issue(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let new = parse(merchant, &call.json().await?, call.now)?;
    let issued = call.state.onboarding.issue_api_key(new, staff.actor()).await?;
    let mut shown = shown(&issued.record);
    shown["key"] = json!(issued.secret.expose());
    envelope::one(shown)
}

/// `GET /operator/v1/merchants/{id}/api-keys`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    let page = checked(Some(page), problems)?;
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
    let revoked = call.state.onboarding.revoke_api_key(merchant, key_id, staff.actor()).await;
    revoked.map_err(of_part(ErrorCode::ApiKeyNotFound, "API key"))?;
    envelope::one(json!({ "key_id": key_id, "revoked": true }))
}

fn shown(key: &ApiKeyRecord) -> Value {
    json!({
        "key_id": key.key_id,
        "merchant_id": key.tenant.merchant(),
        "environment": key.tenant.environment(),
        "name": key.name,
        "last_four": key.last_four,
        "scopes": key.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
        "rate_limits": key.rate_limits,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
        "created_at": key.created_at,
    })
}

fn parse(merchant: MerchantId, body: &Value, now: Timestamp) -> Result<NewApiKey, ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &fields, &mut problems);
    let name = fields.text("name", 255, &mut problems).unwrap_or_default().to_owned();
    let scopes = read_scopes(&fields, &mut problems).unwrap_or_else(Scopes::all);
    let expires_at = read_expiry(&fields, now, &mut problems);
    let rate_limits = read_rate_limits(&fields, &mut problems);
    let new = tenant.map(|tenant| NewApiKey { tenant, name, scopes, rate_limits, expires_at });
    checked(new, problems)
}

fn read_rate_limits(fields: &Fields<'_>, problems: &mut Problems) -> RateLimits {
    let Some(members) = fields.object("rate_limits", problems) else { return RateLimits::default() };
    members.refuse_unknown(&["create_per_minute", "create_per_10s", "standard_per_minute"], problems);
    let mut limit = |name: &str| {
        let limit = u32::try_from(members.integer(name, problems)?).ok().filter(|limit| *limit > 0);
        if limit.is_none() {
            problems.add(&members.path(name), "must be from 1 to 4294967295");
        }
        limit
    };
    RateLimits {
        create_per_minute: limit("create_per_minute"),
        create_per_10s: limit("create_per_10s"),
        standard_per_minute: limit("standard_per_minute"),
    }
}
