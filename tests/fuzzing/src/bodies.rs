//! Bodies in JSON.

use quipu_kernel::{Amount, Environment, MAX_MINOR, Problems};
use quipu_merchants::parse_routes;
use quipu_payments::{Draft, InvalidDraft, RailEvent};
use quipu_tickets::{
    CommentDraft, MoveDraft, ReplyDraft, TicketDraft, UploadDraft, parse_assignment, parse_closing_comment,
};
use quipu_webhooks::{EndpointDraft, EndpointPatch};
use serde_json::Value;

/// Whether it is taken; what is refused is refused for something that can be told.
fn judged<T>(outcome: Result<T, Problems>) -> bool {
    let Err(problems) = outcome else { return true };
    let messages = problems.into_messages();
    assert!(!messages.is_empty() && messages.iter().all(|message| !message.is_empty()), "{messages:?}");
    false
}

fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// A request to create a payment.
pub(crate) fn creation(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    judged(Draft::parse(&body).map_err(InvalidDraft::into_problems))
}

/// What merchants and support write about tickets.
pub(crate) fn ticket(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let taken = [
        judged(TicketDraft::parse(&body)),
        judged(CommentDraft::parse(&body)),
        judged(UploadDraft::parse(&body)),
        judged(parse_closing_comment(&body)),
        judged(parse_assignment(&body)),
        judged(MoveDraft::parse(&body)),
        judged(ReplyDraft::parse(&body)),
    ];
    taken.contains(&true)
}

/// A webhook endpoint, and a change of one.
pub(crate) fn endpoint(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let taken = [Environment::Test, Environment::Live].map(|environment| {
        let new = judged(EndpointDraft::parse(&body, environment));
        judged(EndpointPatch::parse(&body, environment)) || new
    });
    taken.contains(&true)
}

/// A list of routes.
pub(crate) fn routes(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let Ok(routes) = parse_routes(&body, |rail| rail == "manual" || rail == "simulator") else {
        return false;
    };
    for route in routes {
        assert!(route.max_amount.is_none_or(|most| most >= route.min_amount), "{route:?}");
        if let Ok(fee) = route.fee(Amount::new(MAX_MINOR).unwrap_or(route.min_amount)) {
            assert!(!fee.is_negative(), "{route:?}");
        }
    }
    true
}

/// The callback of a provider, once its signature was verified.
pub(crate) fn callback(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let Ok(event) = RailEvent::parse(&body) else { return false };
    assert!(!event.id.is_empty() && !event.rail_reference.is_empty());
    assert!(!event.failure().code.is_empty());
    true
}
