//! The merchant's own account.

use quipu_merchants::Merchant;
use serde_json::json;

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome},
};

/// `GET /api/v1/merchants/{id}`; the id of another merchant is answered 404.
pub(crate) async fn get(call: Call, caller: Caller) -> Outcome {
    let (tenant, merchant) = (caller.tenant(), caller.merchant());
    if call.merchant_id() != Some(merchant.id) {
        return Err(ApiError::merchant_not_found());
    }
    let environment = tenant.environment();
    let context = Merchant::seal_context(merchant.id, environment);
    let secret =
        call.state.services.keyring.open_secret(&context, merchant.sealed_webhook_secret(environment));
    let secret = secret.map_err(|problem| ApiError::internal("opening a webhook secret", &problem))?;
    envelope::one(json!({
        "merchant_id": merchant.id,
        "name": merchant.name,
        "api_version": merchant.api_version,
        "status": merchant.status,
        "environment": environment,
        "return_urls": merchant.return_urls,
        "default_webhook_secret": secret.expose(),
        "created_at": merchant.created_at,
    }))
}
