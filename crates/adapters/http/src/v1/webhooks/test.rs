//! A sample of an event, sent at once: `POST /api/v1/webhooks/{id}/test`.

use quipu_kernel::{EventId, Fields, Problems};
use quipu_webhooks::{Attempt, EventName, sample_payload};
use serde::Serialize;

use super::endpoint_of;
use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome},
};

/// The attempt, and the event that it sent.
#[derive(Serialize)]
struct Tested {
    event_id: EventId,
    event_type: EventName,
    delivered: bool,
    #[serde(flatten)]
    attempt: Attempt,
}

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let endpoint = endpoint_of(&call, &caller).await?;
    let name = event_type(&call).await?;
    let services = &call.state.services;
    let id = EventId::new(call.now, services.entropy.as_ref());
    let payload = sample_payload(name, &id, call.now, caller.tenant()).into();
    let turn = call.state.test_events.turn(caller.tenant().merchant(), &endpoint.id).await;
    let turn = turn.ok_or(ApiError::Overloaded)?;
    // The body and the turn may have been waited for, and the endpoint may be another one by now, or gone.
    let endpoint = endpoint_of(&call, &caller).await?;
    // In a task of its own, so that the attempt goes on when the client disconnects.
    let courier = services.webhooks.courier.clone();
    let (target, event) = (endpoint, id.clone());
    let attempt = tokio::spawn(async move {
        let _turn = turn;
        courier.attempt(&target, &event, &payload).await
    });
    let attempted = attempt.await.map_err(|error| ApiError::internal("sending a test event", &error))?;
    envelope::one(Tested {
        event_id: id,
        event_type: name,
        delivered: attempted.is_success(),
        attempt: Attempt::of(1, &attempted, None),
    })
}

async fn event_type(call: &Call) -> Result<EventName, ApiError> {
    let body = call.json().await?;
    let fields = Fields::of_body(&body)?;
    let mut problems = Problems::new();
    let name = fields.required_parsed("event_type", &mut problems);
    Ok(problems.admit(name)?)
}
