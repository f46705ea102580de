//! Refusals of requests that never reach a handler, in our shape.

use actix_web::http::StatusCode;
use quipu_kernel::{Clock, Entropy, Problems, base32};

use crate::answer::{ApiError, ErrorCode, X_REQUEST_ID};

/// The beginning of a refusal by the web server, with the version of the last request that it understood. Our
/// own answers carry a request id.
const BEGINNINGS: [&[u8]; 2] = [b"HTTP/1.1 4", b"HTTP/1.0 4"];

/// Our answer in place of the web server's refusal of a request that never reached us; `None` for other
/// bytes. The head `is_oversized` if the socket found so.
pub(super) fn instead_of(
    bytes: &[u8],
    is_oversized: bool,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Option<Vec<u8>> {
    if !BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning)) {
        return None;
    }
    let text = str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    if !body.is_empty() || head.to_ascii_lowercase().contains(X_REQUEST_ID.as_str()) {
        return None;
    }
    let status = StatusCode::from_bytes(head.get(9..12)?.as_bytes()).ok()?;
    let error = match status {
        StatusCode::REQUEST_TIMEOUT => return Some(too_slow(clock, entropy)),
        _ if is_oversized || status == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            ApiError::refused(ErrorCode::HeadersTooLarge, "the head of the request is too large")
        }
        _ => ApiError::Validation(Problems::of("request", "must be well-formed HTTP")),
    };
    Some(last_answer(&error, clock, entropy))
}

/// The answer to a request whose head takes too long.
pub(super) fn too_slow(clock: &dyn Clock, entropy: &dyn Entropy) -> Vec<u8> {
    let error = ApiError::refused(ErrorCode::RequestTimeout, "the request did not arrive in time");
    last_answer(&error, clock, entropy)
}

/// The bytes of an answer after which the connection is closed.
fn last_answer(error: &ApiError, clock: &dyn Clock, entropy: &dyn Entropy) -> Vec<u8> {
    let body = error.to_answer(clock.now()).body;
    let status = error.code().http_status();
    let request_id = format!("req_{}", base32(entropy, 20));
    tracing::info!(request_id, status = status.as_u16(), "a request whose head could not be read");
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\
         cache-control: no-store\r\nx-request-id: {request_id}\r\n\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        body.len(),
    );
    [head, body].concat().into_bytes()
}
