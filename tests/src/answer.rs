//! What came back.

use reqwest::header::HeaderMap;
use serde_json::Value;

/// An HTTP answer, read whole.
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
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error}: status {}, body {:?}", self.status, self.text))
    }

    /// The body of an answer that must be 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
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
        assert_eq!(self.status, status, "expected {code}: {}", self.text);
        let body = self.json();
        assert_eq!(body["error_code"], code, "{body}");
        assert_eq!(body["statusCode"], status, "{body}");
        body
    }

    /// A validation error (shape 2 of the specification) with an entry about `field`, which may be a path such as
    /// `payout.bsb`.
    #[track_caller]
    pub fn invalid(&self, field: &str) {
        let body = self.refused(400, "VALIDATION_FAILED");
        assert_eq!(body["error"], "Bad Request", "{body}");
        let entries = body["message"].as_array().unwrap_or_else(|| panic!("message is no array: {body}"));
        assert!(!entries.is_empty(), "{body}");
        let names = |entry: &Value| {
            let text = entry.as_str().unwrap_or_else(|| panic!("message holds more than strings: {body}"));
            text.strip_prefix(field)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        assert!(entries.iter().any(names), "no entry about {field:?}: {body}");
    }

    /// A header's text, or nothing.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
