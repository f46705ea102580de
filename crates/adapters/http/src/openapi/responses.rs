//! What an operation answers: its success, and what it refuses in the shapes of its family.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operation::{Operation, Shows};
use crate::{
    body::Intake,
    code::ErrorCode,
    door::{Credentials, Door},
    row::RouteRow,
    shape::Family,
};

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

/// The answers that operations share, by family and kind.
pub(super) fn shared() -> Value {
    let answer = |text: &str, schema: Value| json!({ "description": text, "headers": headers(&[]), "content": content(&schema) });
    let either = |one: &str, other: &str| json!({ "oneOf": [schema(one), schema(other)] });
    let page = json!({ "text/html": { "schema": { "type": "string" } } });
    json!({
        "Invalid": answer("The request is wrong, or does not fit the state of things.", either("ValidationError", "BusinessError")),
        "NotAuthenticated": json!({
            "description": "The credentials are missing or not good.",
            "headers": headers(&["WWW-Authenticate"]),
            "content": content(&schema("AuthenticationError")),
        }),
        "NotAllowed": answer("The credentials do not allow it.", schema("AuthenticationError")),
        "Refused": answer("The error code says why.", schema("BusinessError")),
        "TicketRefused": answer("The error code says why.", schema("TicketError")),
        "TicketNotAuthenticated": answer("The credentials are missing or not good.", schema("TicketAuthenticationError")),
        "TicketNotAllowed": answer("The credentials do not allow it.", schema("TicketAuthenticationError")),
        "PageRefused": json!({ "description": "A page that says why.", "headers": headers(&[]), "content": page }),
    })
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
    answers.insert(operation.status.to_string(), success(row, operation));
    for status in refused_statuses(row, operation) {
        answers.insert(status.to_string(), refusal(row.family(), status));
    }
    answers.insert("default".to_owned(), refusal(row.family(), 500));
    answers.into()
}

fn success(row: &RouteRow, operation: &Operation) -> Value {
    let mut more: Vec<&str> = Vec::new();
    if row.is_limited() {
        more.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]);
    }
    if operation.parameters.contains(&"IdempotencyKey") {
        more.push("Idempotent-Replayed");
    }
    let success = json!({ "type": "boolean", "enum": [true] });
    let content = match operation.shows {
        Shows::Data(name) => content(&json!({
            "type": "object", "required": ["success", "data"],
            "properties": { "success": success, "data": schema(name) },
        })),
        Shows::List(name) => content(&json!({
            "type": "object", "required": ["success", "data", "total", "pagination"],
            "properties": {
                "success": success,
                "data": { "type": "array", "items": schema(name) },
                "total": { "type": "integer", "minimum": 0 },
                "pagination": schema("Pagination"),
            },
        })),
        Shows::Members(name) => content(&json!({
            "allOf": [
                { "type": "object", "required": ["success"], "properties": { "success": success } },
                schema(name),
            ],
        })),
        Shows::Plain(name) => content(&schema(name)),
        Shows::Media(kind) => json!({ kind: { "schema": {} } }),
    };
    json!({ "description": "Done.", "headers": headers(&more), "content": content })
}

fn refused_statuses(row: &RouteRow, operation: &Operation) -> BTreeSet<u16> {
    let mut statuses: BTreeSet<_> = operation.refuses.iter().map(|code| code.status()).collect();
    let mut add = |codes: &[ErrorCode]| statuses.extend(codes.iter().map(|code| code.status()));
    add(&[ErrorCode::InternalError, ErrorCode::Overloaded]);
    if !operation.parameters.is_empty() || operation.body.is_some() || row.path().contains('{') {
        add(&[ErrorCode::ValidationFailed]);
    }
    if row.credentials() != Credentials::None {
        add(&[ErrorCode::TokenInvalid, ErrorCode::RateLimited]);
    }
    if !matches!(row.door, Door::Public(_) | Door::Visitor(_) | Door::Callback(..)) {
        add(&[ErrorCode::ScopeMissing]);
    }
    if matches!(row.door, Door::Visitor(_)) {
        add(&[ErrorCode::RateLimited]);
    }
    if row.intake != Intake::Nothing {
        add(&[ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType, ErrorCode::BodyTimeout]);
    }
    statuses
}

fn refusal(family: Family, status: u16) -> Value {
    let name = match (family, status) {
        (Family::Page, _) => "PageRefused",
        (Family::Ticket, 401) => "TicketNotAuthenticated",
        (Family::Ticket, 403) => "TicketNotAllowed",
        (Family::Ticket, _) => "TicketRefused",
        (Family::Api, 400) => "Invalid",
        (Family::Api, 401) => "NotAuthenticated",
        (Family::Api, 403) => "NotAllowed",
        (Family::Api, _) => "Refused",
    };
    json!({ "$ref": format!("#/components/responses/{name}") })
}
