//! The shapes of error answers. A route's row names its family, and a family has one shape for each kind of
//! error.

use actix_web::{HttpResponse, http::StatusCode};
use quipu_kernel::{Timestamp, json_text};
use serde::Serialize;

use super::{error_code::ErrorCode, reply};

/// The family of shapes in which a route answers refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// JSON, in the shapes of payments, balances and webhooks.
    Api,
    /// JSON with `success: false`, in the shapes of tickets.
    Ticket,
    /// A small page for people.
    Page,
}

/// The visible parts of an error.
pub(crate) struct Shown<'a> {
    pub(crate) code: ErrorCode,
    /// The message; for a validation error one for each problem.
    pub(crate) messages: &'a [String],
    pub(crate) transaction_id: Option<&'a str>,
}

impl Shown<'_> {
    fn status(&self) -> u16 {
        self.code.status()
    }

    fn text(&self) -> String {
        self.messages.join("; ")
    }

    fn is_validation(&self) -> bool {
        self.code == ErrorCode::ValidationFailed
    }

    /// The word that stands for a caller who was refused.
    fn refused_caller(&self) -> Option<&'static str> {
        match self.code.http_status() {
            StatusCode::UNAUTHORIZED => Some("Unauthorized"),
            StatusCode::FORBIDDEN => Some("Forbidden"),
            _ => None,
        }
    }
}

impl Family {
    /// The family for a path without a route, by the routes near it.
    pub(crate) fn of_unknown_path(path: &str) -> Self {
        let begins_with = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if begins_with("/tickets") || begins_with("/api/v1/tickets") {
            Self::Ticket
        } else if begins_with("/payment-pages") {
            Self::Page
        } else {
            Self::Api
        }
    }

    /// The error as this family answers it, except for the headers that every answer has.
    pub(crate) fn answer(self, shown: &Shown<'_>, now: Timestamp) -> HttpResponse {
        let status = shown.code.http_status();
        match self {
            Self::Api => reply::raw(status, api_body(shown, now)),
            Self::Ticket => reply::raw(status, ticket_body(shown)),
            Self::Page => page(status, shown),
        }
    }
}

/// The JSON of an error outside tickets.
pub(crate) fn api_body(shown: &Shown<'_>, now: Timestamp) -> Vec<u8> {
    let (status_code, error_code, text) = (shown.status(), shown.code.as_str(), shown.text());
    if shown.is_validation() {
        let message = shown.messages;
        return written(&Validation { status_code, message, error: "Bad Request", error_code });
    }
    match shown.refused_caller() {
        Some(error) => written(&Refused { success: None, status_code, message: &text, error, error_code }),
        None => written(&Business {
            status_code,
            message: &text,
            error_code,
            timestamp: now,
            transaction_id: shown.transaction_id,
        }),
    }
}

/// The JSON of a ticket endpoint's error. For 401 and 403 one body has the members of both the general shape
/// and the shape of tickets.
fn ticket_body(shown: &Shown<'_>) -> Vec<u8> {
    let (status_code, error_code, text) = (shown.status(), shown.code.as_str(), shown.text());
    match shown.refused_caller() {
        Some(error) => {
            written(&Refused { success: Some(false), status_code, message: &text, error, error_code })
        }
        None => written(&Ticket { success: false, error: &text, status_code, error_code }),
    }
}

/// The page for a person in a browser: only words, and nothing that loads or runs.
fn page(status: StatusCode, shown: &Shown<'_>) -> HttpResponse {
    let (number, text) = (shown.status(), escaped(&shown.text()));
    let title = status.canonical_reason().unwrap_or("Error");
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n<p>{text}</p>\n<p><small>{number}</small></p>\n</main>\n</body>\n</html>\n"
    );
    reply::page(status, "default-src 'none'; frame-ancestors 'none'", html)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Validation<'a> {
    status_code: u16,
    message: &'a [String],
    error: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refused<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    status_code: u16,
    message: &'a str,
    error: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Business<'a> {
    status_code: u16,
    message: &'a str,
    #[serde(rename = "error_code")]
    error_code: &'a str,
    timestamp: Timestamp,
    #[serde(rename = "transaction_id", skip_serializing_if = "Option::is_none")]
    transaction_id: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ticket<'a> {
    success: bool,
    error: &'a str,
    status_code: u16,
    #[serde(rename = "error_code")]
    error_code: &'a str,
}

fn written(shape: &impl Serialize) -> Vec<u8> {
    json_text(shape).into_bytes()
}
