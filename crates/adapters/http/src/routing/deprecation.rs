//! Deprecated routes, and how their callers are informed in time.

use std::time::{Duration, SystemTime};

use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue, HttpDate};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// A route that still works and will end. docs/VERSIONING.md says what is promised to merchants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deprecation {
    /// Since when callers should use a replacement, in Unix seconds.
    pub(crate) since: u64,
    /// From when the route may be gone, in Unix seconds.
    pub(crate) sunset: u64,
    /// The address of the advice about the replacement.
    pub(crate) link: &'static str,
}

impl Deprecation {
    /// Writes the headers of an answer: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a link to the
    /// advice.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let texts = [
            (DEPRECATION, format!("@{}", self.since)),
            (SUNSET, http_date(self.sunset)),
            (header::LINK, format!("<{}>; rel=\"deprecation\"; type=\"text/html\"", self.link)),
        ];
        for (name, text) in texts {
            // A link with a line break would be a mistake in the table; a test reads every row.
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.append(name, value);
            }
        }
    }

    /// The sentences that the document shows for the route.
    pub(crate) fn in_words(&self) -> String {
        format!(
            "Deprecated, and gone after {}: see [what to use instead]({}).",
            http_date(self.sunset),
            self.link
        )
    }
}

fn http_date(seconds: u64) -> String {
    HttpDate::from(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route_table::route_table;

    /// How long a deprecated route works at least: three months, in seconds.
    const NOTICE: u64 = 92 * 24 * 60 * 60;

    #[test]
    fn no_route_ends_before_its_callers_had_three_months() {
        for deprecation in route_table().filter_map(|row| row.deprecation) {
            assert!(deprecation.sunset >= deprecation.since + NOTICE, "{deprecation:?}");
            assert!(HeaderValue::from_str(deprecation.link).is_ok(), "{deprecation:?}");
        }
    }
}
