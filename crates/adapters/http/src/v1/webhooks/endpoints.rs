//! The endpoints themselves: create, list, get, update, delete, enable, disable.

use quipu_kernel::{Page, Period, Problems, Tenant};
use quipu_merchants::Actor;
use quipu_webhooks::{EndpointChange, EndpointDraft, EndpointPatch, EndpointView, Source};
use serde_json::json;

use super::{endpoint_of, id_of};
use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome, Query},
};

/// `POST /api/v1/webhooks`
pub(crate) async fn create(call: Call, caller: Caller) -> Outcome {
    let draft = EndpointDraft::parse(&call.json().await?, caller.tenant().environment())?;
    create_for(&call, caller.tenant(), draft, None).await
}

/// Creates an endpoint for a tenant, by itself or by staff. Only this answer contains the secret.
pub(crate) async fn create_for(
    call: &Call,
    tenant: Tenant,
    draft: EndpointDraft,
    actor: Option<Actor>,
) -> Outcome {
    let created = call.state.services.webhooks.create.run(tenant, draft, actor).await?;
    envelope::one(EndpointView::of(&created.endpoint).with_secret(created.secret.expose()))
}

/// `GET /api/v1/webhooks`
pub(crate) async fn list(call: Call, caller: Caller) -> Outcome {
    list_for(&call, caller.tenant(), Period::default(), &call.query()?, Problems::new()).await
}

/// A page of a tenant's endpoints; endpoints that payments named are included only on request.
pub(crate) async fn list_for(
    call: &Call,
    tenant: Tenant,
    created: Period,
    query: &Query,
    mut problems: Problems,
) -> Outcome {
    let page: Page = query.page(&mut problems);
    let source = query.parsed("source", &mut problems).unwrap_or(Source::Admin);
    problems.into_result()?;
    let (found, total) =
        call.state.services.webhooks.endpoints.endpoints(tenant, source, created, page).await?;
    envelope::many(found.iter().map(EndpointView::of).collect(), total, page)
}

/// `GET /api/v1/webhooks/{id}`
pub(crate) async fn get(call: Call, caller: Caller) -> Outcome {
    let endpoint = endpoint_of(&call, &caller).await?;
    envelope::one(EndpointView::of(&endpoint))
}

/// `PUT /api/v1/webhooks/{id}`
pub(crate) async fn update(call: Call, caller: Caller) -> Outcome {
    // The endpoint is looked up before the body is judged, so that the identifier of another merchant always
    // gives 404.
    endpoint_of(&call, &caller).await?;
    let patch = EndpointPatch::parse(&call.json().await?, caller.tenant().environment())?;
    change(call, caller, EndpointChange::Update(patch)).await
}

/// `PUT /api/v1/webhooks/{id}/enable`
pub(crate) async fn enable(call: Call, caller: Caller) -> Outcome {
    change(call, caller, EndpointChange::Enable).await
}

/// `PUT /api/v1/webhooks/{id}/disable`
pub(crate) async fn disable(call: Call, caller: Caller) -> Outcome {
    change(call, caller, EndpointChange::Disable).await
}

async fn change(call: Call, caller: Caller, change: EndpointChange) -> Outcome {
    let (id, endpoints) = (id_of(&call)?, &call.state.services.webhooks.endpoints);
    let endpoint = endpoints.change(caller.tenant(), &id, change, call.now).await?;
    envelope::one(EndpointView::of(&endpoint))
}

/// `DELETE /api/v1/webhooks/{id}`
pub(crate) async fn delete(call: Call, caller: Caller) -> Outcome {
    let id = id_of(&call)?;
    call.state.services.webhooks.endpoints.remove(caller.tenant(), &id, call.now).await?;
    envelope::one(json!({ "id": id, "deleted": true }))
}
