//! The metrics of HTTP calls.

use std::time::Duration;

use actix_web::http::StatusCode;
use quipu_merchants::RateVerdict;

use super::row::RouteRow;
use crate::metric_names::{RATE_LIMITED, REQUEST_SECONDS, REQUESTS};

/// Shows the refusals of each limited route as 0, so that a first refusal is seen as a change.
pub(crate) fn begin_at_zero(rows: impl Iterator<Item = &'static RouteRow>) {
    for row in rows.filter(|row| row.is_limited()) {
        metrics::counter!(RATE_LIMITED, "method" => row.method(), "path" => row.path()).absolute(0);
    }
}

/// Measures one answered request of a route.
pub(crate) fn request(row: &RouteRow, status: StatusCode, took: Duration, verdict: Option<&RateVerdict>) {
    let (method, path) = (row.method(), row.path());
    let labels = [("method", method), ("path", path), ("status", class(status))];
    metrics::counter!(REQUESTS, &labels).increment(1);
    metrics::histogram!(REQUEST_SECONDS, "method" => method, "path" => path).record(took.as_secs_f64());
    if verdict.is_some_and(|verdict| !verdict.allowed) {
        metrics::counter!(RATE_LIMITED, "method" => method, "path" => path).increment(1);
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200..=299 => "2xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}
