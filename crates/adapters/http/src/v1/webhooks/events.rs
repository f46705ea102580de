//! The event log of an endpoint, and retries of failed deliveries.

use quipu_kernel::{EventId, Fields, Period, Problems, Timestamp};
use quipu_webhooks::{LogFilter, RetrySelection};
use serde_json::json;

use super::endpoint_of;
use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome},
};

/// The most events that one retry may name.
const MOST_NAMED: usize = 1_000;

/// `GET /api/v1/webhooks/{id}/events`
pub(crate) async fn list(call: Call, caller: Caller) -> Outcome {
    let endpoint = endpoint_of(&call, &caller).await?;
    let (query, mut problems) = (call.query()?, Problems::new());
    let page = query.page(&mut problems);
    let filter =
        LogFilter { status: query.parsed("status", &mut problems), created: query.created(&mut problems) };
    problems.into_result()?;
    let log = &call.state.services.webhooks.log;
    let (events, total) = log.logged(caller.tenant(), &endpoint.id, filter, page).await?;
    envelope::many(events, total, page)
}

/// `POST /api/v1/webhooks/{id}/retry`
pub(crate) async fn retry(call: Call, caller: Caller) -> Outcome {
    endpoint_of(&call, &caller).await?;
    let selection = selection(&call).await?;
    // The body may have been waited for, and the endpoint may be another one by now, or gone.
    let endpoint = endpoint_of(&call, &caller).await?;
    if !endpoint.is_enabled() {
        return Err(quipu_webhooks::EndpointError::Disabled.into());
    }
    let webhooks = &call.state.services.webhooks;
    let retried = webhooks.log.retry(caller.tenant(), &endpoint.id, selection, call.now).await?;
    webhooks.deliverer.look();
    envelope::one(json!({ "retried": retried }))
}

async fn selection(call: &Call) -> Result<RetrySelection, ApiError> {
    let body = call.optional_json().await?;
    let fields = Fields::of_body(&body)?;
    let mut problems = Problems::new();
    let events = fields.texts("event_ids", MOST_NAMED, &mut problems);
    let events = events.map(|ids| ids.into_iter().map(|id| EventId::restore(id.to_owned())).collect());
    let created = Period {
        from: instant(&fields, "since", Timestamp::parse_beginning, &mut problems),
        to: instant(&fields, "until", Timestamp::parse_end, &mut problems),
    };
    problems.into_result()?;
    Ok(RetrySelection { events, created })
}

fn instant(
    fields: &Fields<'_>,
    name: &str,
    parse: impl Fn(&str) -> Option<Timestamp>,
    problems: &mut Problems,
) -> Option<Timestamp> {
    let instant = parse(fields.text(name, 64, problems)?);
    if instant.is_none() {
        problems.add(name, "must be an ISO 8601 date or instant");
    }
    instant
}
