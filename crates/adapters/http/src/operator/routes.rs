//! Routes of a merchant (docs/OPERATIONS.md, "The operator API").

use quipu_merchants::parse_routes;
use serde_json::json;

use super::existing_merchant;
use crate::{
    answer::envelope,
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `GET /operator/v1/merchants/{id}/routes`
pub(crate) async fn get(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let routes = call.state.services.directory.routes(merchant).await?;
    envelope::one(json!({ "routes": &routes[..] }))
}

/// `PUT /operator/v1/merchants/{id}/routes`
pub(crate) async fn replace(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let rails = &call.state.services.rails;
    let routes = parse_routes(&call.json().await?, |rail| rails.knows(rail))?;
    let shown = json!({ "routes": routes });
    call.state.services.onboarding.put_routes(merchant, routes, staff.actor()).await?;
    envelope::one(shown)
}
