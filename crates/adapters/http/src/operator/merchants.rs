//! Merchants: onboarding, reading, changing, suspending, switching.

use quipu_kernel::{Environment, Fields, Problems};
use quipu_merchants::{ApiVersion, Issued, Merchant, MerchantFilter, MerchantPatch, NewMerchant};
use serde_json::{Value, json};

use super::{existing_merchant, tenant_of};
use crate::{
    answer::{ApiError, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
    state::AppState,
};

/// `POST /operator/v1/merchants`
pub(crate) async fn create(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let new = NewMerchant::parse(&call.json().await?)?;
    let (merchant, _) = call.state.services.onboarding.create_merchant(new, staff.actor()).await?;
    envelope::one(shown(&call.state, &merchant)?)
}

/// `GET /operator/v1/merchants`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let page = query.page(&mut problems);
    let filter = MerchantFilter {
        id: query.merchant(&mut problems),
        status: query.parsed("status", &mut problems),
        created: query.created(&mut problems),
    };
    problems.into_result()?;
    let (merchants, total) = call.state.services.directory.merchants(filter, page).await?;
    let rows: Result<Vec<_>, _> = merchants.iter().map(|merchant| shown(&call.state, merchant)).collect();
    envelope::many(rows?, total, page)
}

/// `GET /operator/v1/merchants/{id}`
pub(crate) async fn get(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    envelope::one(shown(&call.state, &existing_merchant(&call).await?)?)
}

/// `PATCH /operator/v1/merchants/{id}`
pub(crate) async fn change(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?;
    let patch = MerchantPatch::parse(&call.json().await?, merchant.api_version)?;
    let merchant = call.state.services.onboarding.change_merchant(merchant.id, patch, staff.actor()).await?;
    envelope::one(shown(&call.state, &merchant)?)
}

/// `POST /operator/v1/merchants/{id}/rotate-webhook-secret`
pub(crate) async fn rotate_webhook_secret(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let body = call.json().await?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &Fields::of_body(&body)?, &mut problems);
    let tenant = problems.admit(tenant)?;
    let secret = call.state.services.onboarding.rotate_webhook_secret(tenant, staff.actor()).await?;
    envelope::one(json!({ "environment": tenant.environment(), "default_webhook_secret": secret.expose() }))
}

/// `POST /operator/v1/merchants/{id}/switch`
pub(crate) async fn switch(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let body = call.json().await?;
    let mut problems = Problems::new();
    let version = Fields::of_body(&body)?.required_parsed::<ApiVersion>("api_version", &mut problems);
    let version = problems.admit(version)?;
    let issued = call.state.services.onboarding.switch(merchant, version, staff.actor()).await?;
    let credentials: Vec<_> = issued.iter().map(Issued::shown).collect();
    envelope::one(json!({ "merchant_id": merchant, "api_version": version, "credentials": credentials }))
}

fn shown(state: &AppState, merchant: &Merchant) -> Result<Value, ApiError> {
    let open = |environment| {
        let context = Merchant::seal_context(merchant.id, environment);
        let opened =
            state.services.keyring.open_secret(&context, merchant.sealed_webhook_secret(environment));
        opened.map_err(|problem| ApiError::internal("opening a webhook secret", &problem))
    };
    let (test, live) = (open(Environment::Test)?, open(Environment::Live)?);
    Ok(json!({
        "merchant_id": merchant.id,
        "name": merchant.name,
        "api_version": merchant.api_version,
        "status": merchant.status,
        "return_urls": merchant.return_urls,
        "default_webhook_secrets": { "test": test.expose(), "live": live.expose() },
        "default_webhook_secret": test.expose(),
        "created_at": merchant.created_at,
    }))
}
