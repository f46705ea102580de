//! An answer of the gateway.

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// An HTTP answer, read completely.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body as text; every body of the interface is UTF-8.
    pub text: String,
}

impl Answer {
    /// An answer of an edge that was called in this process.
    pub fn new(status: u16, headers: impl IntoIterator<Item = (String, Vec<u8>)>, text: String) -> Self {
        let header = |(name, value): (String, Vec<u8>)| {
            let name: HeaderName = name.parse().expect("the name of a header");
            (name, HeaderValue::from_bytes(&value).expect("the value of a header"))
        };
        Self { status, headers: headers.into_iter().map(header).collect(), text }
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The body of an answer that must be 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self}");
        self.json()
    }

    /// `data` of an answer that must be 200 and say `success`.
    #[track_caller]
    pub fn data(&self) -> Value {
        let mut body = self.ok();
        assert_eq!(body["success"], true, "{body}");
        body["data"].take()
    }

    /// The body of an answer that must have this status and `error_code`.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        self.is_refused(status, code).unwrap_or_else(|reason| panic!("{reason}"));
        self.json()
    }

    /// Asserts a validation error with an entry about `field`, which may be a path such as `payout.bsb`; an
    /// entry about a member below it counts.
    #[track_caller]
    pub fn invalid(&self, field: &str) {
        self.is_invalid(field).unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// [`Answer::refused`] as a verdict, for tables.
    pub fn is_refused(&self, status: u16, code: &str) -> Result<(), String> {
        let body: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let wanted = (self.status, &body["error_code"], &body["statusCode"]);
        if wanted == (status, &Value::from(code), &Value::from(status)) {
            return Ok(());
        }
        Err(format!("expected {status} {code}, got {self}"))
    }

    /// [`Answer::invalid`] as a verdict, for tables.
    pub fn is_invalid(&self, field: &str) -> Result<(), String> {
        self.is_refused(400, "VALIDATION_FAILED").map_err(|reason| format!("{reason} (about {field})"))?;
        let body = self.json();
        let about_field = |entry: &str| {
            let rest = entry.strip_prefix(field);
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        };
        let entries = body["message"].as_array().cloned().unwrap_or_default();
        let named = entries.iter().any(|entry| entry.as_str().is_some_and(about_field));
        if named && body["error"] == "Bad Request" {
            return Ok(());
        }
        Err(format!("expected `error` Bad Request and an entry about {field:?} in `message`, got {self}"))
    }

    /// A header's text, or `None`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.text)
    }
}
