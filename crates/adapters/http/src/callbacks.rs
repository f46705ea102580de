//! `POST /api/v1/providers/{rail}/callbacks`: events of payment providers.

use std::sync::Arc;

use quipu_payments::{CallbackHeaders, NotVerified, RailEvent};
use serde_json::json;

use crate::{
    answer::{ApiError, ErrorCode, envelope},
    caller::Provider,
    metric_names,
    request::{Call, Outcome, call::apart},
    routing::Judge,
};

/// The most bytes of a callback. Those of our own protocol have less than two kilobytes.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// Judges the signature over the raw body before anything in the body is read.
pub(crate) const JUDGE: Judge = Judge {
    head: |call| match judge(call, &[]) {
        Err((NotVerified::Missing | NotVerified::NoCallbacks, refusal)) => Err(refusal),
        // The signature covers the body, which has not been read yet.
        Ok(_) | Err(_) => Ok(()),
    },
    whole: |call, body| judge(call, body).map_err(|(_, refusal)| refusal),
};

/// Finds the rail that a callback comes from, and verifies its signature.
fn judge(call: &Call, body: &[u8]) -> Result<Provider, (NotVerified, ApiError)> {
    // A header that is sent twice is ambiguous, so the callback is refused.
    let header = |name: &str| {
        let mut values = call.request.headers().get_all(name);
        let value = values.next().and_then(|value| value.to_str().ok());
        value.filter(|_| values.next().is_none())
    };
    let headers = CallbackHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    let rail = call.state.services.rails.by_callback_name(call.segment("rail"));
    let rail = rail.ok_or_else(|| (NotVerified::NoCallbacks, unknown()))?;
    match rail.verify_callback(headers, body) {
        Ok(()) => Ok(Provider::verified(rail.name().to_owned())),
        Err(NotVerified::NoCallbacks) => Err((NotVerified::NoCallbacks, unknown())),
        Err(problem) => Err((problem, problem.into())),
    }
}

fn unknown() -> ApiError {
    ApiError::refused(ErrorCode::RouteNotFound, "there is no such provider")
}

/// Stores and applies a provider's event, once. An event that cannot be applied waits for a person, and is
/// answered like the others, since the provider has done its part.
pub(crate) async fn handle(call: Call, provider: Provider) -> Outcome {
    let event = RailEvent::parse(&call.json().await?)?;
    let id = event.id.clone();
    let rail_events = Arc::clone(&call.state.services.rail_events);
    // Staff are told of what is parked, even if the provider has gone away meanwhile.
    let work = async move {
        let outcome = rail_events.run(provider.rail(), &event).await?;
        metrics::counter!(metric_names::CALLBACKS, "outcome" => outcome.as_str()).increment(1);
        Ok::<_, ApiError>(outcome)
    };
    let outcome = apart("processing a callback", Box::pin(work)).await??;
    envelope::one(json!({ "id": id, "outcome": outcome.as_str() }))
}
