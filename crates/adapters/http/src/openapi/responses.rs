//! The answers of an operation: its success, and its refusals in the shapes of its family.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::examples;
use crate::{
    answer::{ErrorCode, Family},
    request::Intake,
    routing::{Access, Credentials, Operation, RouteRow, Shows},
};

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn content(schema: &Value, example: Option<Value>) -> Value {
    let mut media = json!({ "schema": schema });
    if let Some(example) = example {
        media["example"] = example;
    }
    json!({ "application/json": media })
}

/// What a limited call is told of its budget, refused or not.
const OF_BUDGET: [&str; 3] = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// A shared answer: its name, description, content and further headers.
type SharedAnswer<'a> = (&'static str, &'static str, Value, &'a [&'static str]);

/// Refusals that only their code explains: the code and message of their example, their name and their description.
const REFUSALS: [(ErrorCode, &str, &str, &str); 8] = [
    (ErrorCode::PaymentNotFound, "there is no such payment", "NotFound", "There is no such thing."),
    (
        ErrorCode::BodyTimeout,
        "the body did not arrive in time",
        "BodyTimeout",
        "The body did not arrive in time.",
    ),
    (
        ErrorCode::IdempotencyKeyInUse,
        "the first request with this idempotency key is still running, or its answer cannot be given yet: wait a second \
         and send it again",
        "Conflict",
        "Something else is there already; the error code says what.",
    ),
    (
        ErrorCode::BodyTooLarge,
        "the body must be at most 65536 bytes",
        "BodyTooLarge",
        "The body is too large.",
    ),
    (
        ErrorCode::UnsupportedMediaType,
        "send the body with Content-Type application/json and without Content-Encoding",
        "UnsupportedMediaType",
        "The body has another type.",
    ),
    (
        ErrorCode::IdempotencyKeyMismatch,
        "the idempotency key was used with another request body",
        "KeyMismatch",
        "The idempotency key was used with another body.",
    ),
    (ErrorCode::InternalError, "an internal error occurred", "InternalError", "An error of the gateway."),
    (
        ErrorCode::PaymentCreateOutcomeUnknown,
        "it is not known whether the change was made; if the request had an Idempotency-Key, repeat it under the same key, \
         otherwise look before you repeat it",
        "OutcomeUnknown",
        "It is not known whether anything was changed.",
    ),
];

/// The code and message of the example of such a refusal where it is of a ticket.
const fn of_ticket(code: ErrorCode, message: &'static str) -> (ErrorCode, &'static str) {
    match code {
        ErrorCode::PaymentNotFound => (ErrorCode::TicketNotFound, "there is no such ticket"),
        ErrorCode::IdempotencyKeyInUse => {
            (ErrorCode::TicketExistsForPayment, "there is a ticket for this payment already")
        }
        _ => (code, message),
    }
}

/// The answers that operations share, by family and kind.
pub(super) fn shared() -> Value {
    let page = json!({ "text/html": { "schema": { "type": "string" } } });
    let either = json!({ "oneOf": [schema("ValidationError"), schema("BusinessError")] });
    let mut shared = Map::new();
    for family in ["", "Ticket", "Either", "Page"] {
        // A caller that accepts HTML gets a page, every other caller JSON.
        let refused = |shape: &Value, example: Option<Value>| match family {
            "Page" => page.clone(),
            "Either" => {
                let mut content = content(shape, example);
                content["text/html"] = page["text/html"].clone();
                content
            }
            _ => content(shape, example),
        };
        let is_ticket = family == "Ticket";
        let scope = if is_ticket { "tickets.create" } else { "payments.create" };
        let business = if is_ticket { "TicketError" } else { "BusinessError" };
        let plain = |code, message| refused(&schema(business), examples::refusal(business, code, message));
        let caller = match family {
            "Ticket" => "TicketAuthenticationError",
            _ => "AuthenticationError",
        };
        let of_caller = |example| match family {
            "Either" | "Page" => page.clone(),
            _ => content(&schema(caller), example),
        };
        let invalid = if is_ticket {
            plain(ErrorCode::ValidationFailed, "title is required")
        } else {
            refused(&either, examples::of("ValidationError").cloned())
        };
        let not_allowed =
            examples::refusal(caller, ErrorCode::ScopeMissing, &format!("the scope {scope} is required"));
        // Only calls of this family take an `Idempotency-Key`, whose refusals are kept like any answer.
        let kept: &[&str] = if family.is_empty() { &["Idempotent-Replayed"] } else { &[] };
        let mut kinds: Vec<SharedAnswer<'_>> = vec![
            ("Invalid", "The request is wrong, or does not fit the state of things.", invalid, kept),
            (
                "NotAuthenticated",
                "The credentials are missing or not good.",
                of_caller(examples::of(caller).cloned()),
                &["WWW-Authenticate"],
            ),
            ("NotAllowed", "The credentials do not allow it.", of_caller(not_allowed), &[]),
            (
                "RateLimited",
                "Too many requests.",
                plain(ErrorCode::RateLimited, "too many requests"),
                &["Retry-After"],
            ),
            (
                "Overloaded",
                "Nothing was changed; try again.",
                plain(ErrorCode::Overloaded, "the service is overloaded; try again in a moment"),
                &["Retry-After"],
            ),
        ];
        for (code, message, kind, text) in REFUSALS {
            let (code, message) = if is_ticket { of_ticket(code, message) } else { (code, message) };
            kinds.push((kind, text, plain(code, message), kept));
        }
        for (kind, text, content, more) in kinds {
            let more = [more, &OF_BUDGET].concat();
            let answer = json!({ "description": text, "headers": headers(&more), "content": content });
            shared.insert(format!("{family}{kind}"), answer);
        }
    }
    shared.into()
}

fn headers(more: &[&str]) -> Value {
    let names = ["X-Request-Id"].into_iter().chain(more.iter().copied());
    let headers =
        names.map(|name| (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") })));
    Value::Object(headers.collect())
}

/// All answers of a route's operation.
pub(super) fn of(row: &RouteRow, operation: &Operation) -> Value {
    let mut answers = Map::new();
    for status in refused_statuses(row, operation) {
        answers.insert(status.to_string(), refusal(row.family(), status, operation.refuses_in_pages));
    }
    for (status, shows) in operation.also {
        answers.insert(status.to_string(), with_headers(described(*status), of_status(*status), *shows));
    }
    answers.insert(operation.status.to_string(), success(row, operation));
    answers.into()
}

const fn described(status: u16) -> &'static str {
    match status {
        303 => "Done; `Location` names the page.",
        503 => "A part is not ready; `checks` names it.",
        _ => "Done.",
    }
}

/// The headers that tell what a status asks for.
const fn of_status(status: u16) -> &'static [&'static str] {
    match status {
        303 => &["Location"],
        _ => &[],
    }
}

fn success(row: &RouteRow, operation: &Operation) -> Value {
    let mut more = of_status(operation.status).to_vec();
    if row.is_limited() {
        more.extend(OF_BUDGET);
    }
    if row.deprecation.is_some() {
        more.extend(["Deprecation", "Sunset", "Link"]);
    }
    if operation.parameters.contains(&"IdempotencyKey") {
        more.push("Idempotent-Replayed");
    }
    with_headers(described(operation.status), &more, operation.shows)
}

fn with_headers(description: &str, more: &[&str], shows: Shows) -> Value {
    let mut answer = json!({ "description": description, "headers": headers(more) });
    if !matches!(shows, Shows::Nothing) {
        answer["content"] = shown(shows);
    }
    answer
}

fn shown(shows: Shows) -> Value {
    let success = json!({ "type": "boolean", "enum": [true] });
    let body = match shows {
        Shows::Data(name) => json!({
            "type": "object", "required": ["success", "data"],
            "properties": { "success": success, "data": schema(name) },
        }),
        Shows::List(name) => list(name, "Pagination"),
        Shows::CountedList(name) => list(name, "CountedPagination"),
        Shows::Members(name) => json!({
            "allOf": [
                { "type": "object", "required": ["success"], "properties": { "success": success } },
                schema(name),
            ],
        }),
        Shows::Plain(name) => schema(name),
        Shows::Media(kinds) => return kinds.iter().map(|kind| ((*kind).to_owned(), media(kind))).collect(),
        Shows::Nothing => return json!({}),
    };
    content(&body, examples::shown(shows))
}

fn list(name: &str, pagination: &str) -> Value {
    json!({
        "type": "object", "required": ["success", "data", "total", "pagination"],
        "properties": {
            "success": { "type": "boolean", "enum": [true] },
            "data": { "type": "array", "items": schema(name) },
            "total": { "type": "integer", "minimum": 0 },
            "pagination": schema(pagination),
        },
    })
}

fn media(kind: &str) -> Value {
    let schema = match kind.split('/').next() {
        _ if kind == "application/json" => {
            return json!({ "schema": { "type": "object" }, "example": { "openapi": "3.0.3", "paths": {} } });
        }
        Some("text") => json!({ "type": "string" }),
        _ => json!({ "type": "string", "format": "binary" }),
    };
    json!({ "schema": schema })
}

fn refused_statuses(row: &RouteRow, operation: &Operation) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<_> = operation.refuses.iter().map(|code| code.status()).collect();
    let mut add = |codes: &[ErrorCode]| statuses.extend(codes.iter().map(|code| code.status()));
    add(&[ErrorCode::InternalError, ErrorCode::Overloaded]);
    // Every signed call commits its nonce.
    let commits =
        matches!(row.access, Access::Signed(..)) || row.method() != "GET" && !operation.changes_nothing;
    if commits {
        add(&[ErrorCode::PaymentCreateOutcomeUnknown]);
    }
    if !operation.parameters.is_empty() || operation.body.is_some() || row.path().contains('{') {
        add(&[ErrorCode::ValidationFailed]);
    }
    if row.credentials() != Credentials::None {
        add(&[ErrorCode::TokenInvalid, ErrorCode::RateLimited]);
    }
    if !matches!(row.access, Access::Public(_) | Access::Anonymous(_) | Access::Callback(..)) {
        add(&[ErrorCode::ScopeMissing]);
    }
    if matches!(row.access, Access::Anonymous(_)) {
        add(&[ErrorCode::RateLimited]);
    }
    if row.intake != Intake::Nothing {
        add(&[ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType, ErrorCode::BodyTimeout]);
    }
    statuses
}

fn refusal(family: Family, status: u16, in_pages: bool) -> Value {
    let family = match family {
        Family::Api if in_pages => "Either",
        Family::Api => "",
        Family::Ticket => "Ticket",
        Family::Page => "Page",
    };
    let kind = match status {
        400 => "Invalid",
        401 => "NotAuthenticated",
        403 => "NotAllowed",
        429 => "RateLimited",
        503 => "Overloaded",
        _ => {
            let found = REFUSALS.iter().find(|(code, ..)| code.status() == status);
            found.map_or("Refused", |(_, _, kind, _)| kind)
        }
    };
    json!({ "$ref": format!("#/components/responses/{family}{kind}") })
}
