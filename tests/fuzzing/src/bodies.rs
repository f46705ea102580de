//! Bodies in JSON.

use quipu_http::fuzzing::read_json;
use quipu_kernel::{Amount, Environment, MAX_MINOR, MerchantId, Problems, Timestamp};
use quipu_merchants::{NewBeneficiary, parse_routes};
use quipu_payments::{Draft, InvalidDraft, RailEvent, methods::MethodQuestion};
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

/// JSON as the gateway reads it: what another parser reads, unless two parsers could differ.
fn json(bytes: &[u8]) -> Option<Value> {
    let read = read_json(bytes).ok()?;
    // Under this name the other parser keeps what it does not parse.
    let is_plain = !bytes.windows(12).any(|some| some == b"$serde_json:");
    assert!(!is_plain || serde_json::from_slice(bytes).is_ok_and(|other: Value| other == read), "{read}");
    Some(read)
}

/// A request to create a payment, and a question whether one could be created.
pub(crate) fn creation(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let _is_question = judged(MethodQuestion::parse(body.clone()));
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

/// A list of routes, and a saved beneficiary.
pub(crate) fn routes(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    if judged(NewBeneficiary::parse(MerchantId(1), &body, Timestamp::from_millis(0))) {
        return true;
    }
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

/// A provider's answer: its status in the first line, and its body after that.
pub(crate) fn answer(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let status = std::str::from_utf8(&bytes[..end]).ok().and_then(|text| text.trim().parse().ok());
    let understood =
        quipu_rails::read_answer(status.unwrap_or(200), bytes.get(end + 1..).unwrap_or_default());
    for text in understood.iter().flatten() {
        let is_fit_to_keep = (1..=600).contains(&text.chars().count()) && !text.contains(char::is_control);
        assert!(is_fit_to_keep, "{text:?}");
    }
    !understood.is_empty()
}

/// The callback of a provider, once its signature was verified.
pub(crate) fn callback(bytes: &[u8]) -> bool {
    let Some(body) = json(bytes) else { return false };
    let Ok(event) = RailEvent::parse(&body) else { return false };
    assert!(!event.id.is_empty() && !event.rail_reference.is_empty());
    assert!(!event.failure().code.is_empty());
    true
}
