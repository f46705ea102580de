//! Webhooks that the operator configures for a merchant.

use quipu_kernel::{Environment, Fields, Problems, Tenant};

use super::{checked, existing_merchant, tenant_of};
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    v1::webhooks::endpoints,
};

/// `POST /operator/v1/merchants/{id}/webhooks`
pub(crate) async fn create(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let body = call.json().await?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &Fields::of_body(&body)?, &mut problems);
    let judged_for = tenant.unwrap_or(Tenant::new(merchant, Environment::Test));
    if let Err(others) = quipu_webhooks::EndpointDraft::parse(&body, judged_for.environment()) {
        problems.append(others);
    }
    let tenant = checked(tenant, problems)?;
    endpoints::create_for(&call, tenant, &body, Some(staff.actor())).await
}

/// `GET /operator/v1/merchants/{id}/webhooks`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let (query, mut problems) = (call.query()?, Problems::new());
    let environment = query.parsed("environment", &mut problems).unwrap_or(Environment::Live);
    let created = query.created(&mut problems);
    endpoints::list_for(&call, Tenant::new(merchant, environment), created, &query, problems).await
}
