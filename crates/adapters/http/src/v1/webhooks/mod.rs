//! Webhooks: a merchant's endpoints, their event logs, and test events.

pub(crate) mod endpoints;
pub(crate) mod events;
pub(crate) mod test;

use quipu_webhooks::{Endpoint, EndpointId};

use crate::{
    answer::{ApiError, ErrorCode},
    caller::Caller,
    request::Call,
};

/// The refusal if there is no such endpoint, or it is another merchant's.
pub(crate) fn not_found() -> ApiError {
    ApiError::refused(ErrorCode::WebhookNotFound, "there is no such webhook")
}

/// The identifier in the path; a malformed identifier counts as one that does not exist.
fn id_of(call: &Call) -> Result<EndpointId, ApiError> {
    call.segment("id").parse().map_err(|_| not_found())
}

/// The caller's endpoint that the path names.
async fn endpoint_of(call: &Call, caller: &Caller) -> Result<Endpoint, ApiError> {
    let found = call.state.services.webhooks.endpoints.endpoint(caller.tenant(), &id_of(call)?).await?;
    found.ok_or_else(not_found)
}
