//! Webhooks that the operator configures for a merchant.

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Tenant};
use quipu_webhooks::EndpointDraft;
use serde_json::Value;

use super::{existing_merchant, tenant_of};
use crate::{
    answer::ApiError,
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
    v1::webhooks::endpoints,
};

/// `POST /operator/v1/merchants/{id}/webhooks`
pub(crate) async fn create(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let (tenant, draft) = read(&call.json().await?, merchant)?;
    endpoints::create_for(&call, tenant, draft, Some(staff.actor())).await
}

/// The environment that the body names, and the endpoint.
fn read(body: &Value, merchant: MerchantId) -> Result<(Tenant, EndpointDraft), ApiError> {
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &Fields::of_body(body)?, &mut problems);
    let judged_for = tenant.unwrap_or(Tenant::new(merchant, Environment::Test));
    let draft =
        EndpointDraft::parse(body, judged_for.environment()).map_err(|others| problems.append(others));
    Ok(problems.admit(tenant.zip(draft.ok()))?)
}

/// `GET /operator/v1/merchants/{id}/webhooks`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let (query, mut problems) = (call.query()?, Problems::new());
    let environment = query.parsed("environment", &mut problems).unwrap_or(Environment::Live);
    let created = query.created(&mut problems);
    endpoints::list_for(&call, Tenant::new(merchant, environment), created, &query, problems).await
}
