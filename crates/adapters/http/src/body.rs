//! Reading request bodies.

use std::time::Duration;

use actix_web::{
    HttpRequest,
    http::{StatusCode, header},
    web,
};
use futures_util::StreamExt;
use quipu_kernel::Problems;
use serde_json::Value;
use web::{Bytes, BytesMut};

use crate::error::ApiError;

/// The most a JSON body may have (decisions, section 3).
const MAX_BYTES: usize = 1024 * 1024;
/// What is still read and thrown away of a longer body, so that the client gets to read its answer instead of a reset.
const MAX_DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads the whole body, up to 1 MiB.
pub(crate) async fn read(
    request: &HttpRequest,
    payload: &mut web::Payload,
    timeout: Duration,
) -> Result<Bytes, ApiError> {
    if declared_length(request).is_some_and(|length| length > MAX_BYTES) {
        drain(payload, timeout).await;
        return Err(too_large());
    }
    match tokio::time::timeout(timeout, collect(payload)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(Unread::TooLarge)) => {
            drain(payload, timeout).await;
            Err(too_large())
        }
        Ok(Err(Unread::Broken)) => Err(ApiError::validation("body", "ended before its time")),
        Err(_) => Err(ApiError::business(
            StatusCode::REQUEST_TIMEOUT,
            "BODY_TIMEOUT",
            "the body did not arrive in time",
        )),
    }
}

enum Unread {
    TooLarge,
    Broken,
}

async fn collect(payload: &mut web::Payload) -> Result<Bytes, Unread> {
    let Some(first) = payload.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|_| Unread::Broken)?;
    // Most bodies come in one piece, which is then the body, without a copy.
    let Some(second) = payload.next().await else {
        return if first.len() <= MAX_BYTES { Ok(first) } else { Err(Unread::TooLarge) };
    };
    let mut body = BytesMut::from(&first[..]);
    let mut next = Some(second);
    while let Some(chunk) = next {
        body.extend_from_slice(&chunk.map_err(|_| Unread::Broken)?);
        if body.len() > MAX_BYTES {
            return Err(Unread::TooLarge);
        }
        next = payload.next().await;
    }
    Ok(body.freeze())
}

/// Reads what is left of a body that nobody wants, within bounds of size and time.
pub(crate) async fn drain(payload: &mut web::Payload, timeout: Duration) {
    let read_on = async {
        let mut drained = 0;
        while let Some(Ok(chunk)) = payload.next().await {
            drained += chunk.len();
            if drained > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    // Whether it came to its end or to its bounds, the answer is the same.
    let _ = tokio::time::timeout(timeout, read_on).await;
}

/// Whether the head of the request says that a body follows (RFC 9112, section 6).
pub(crate) fn is_announced(request: &HttpRequest) -> bool {
    request.headers().contains_key(header::TRANSFER_ENCODING)
        || declared_length(request).is_some_and(|length| length > 0)
}

fn declared_length(request: &HttpRequest) -> Option<usize> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large() -> ApiError {
    ApiError::business(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "the body must be at most 1 MiB")
}

/// Refuses a body that says it is anything but plain JSON. A body that does not say what it is counts as JSON.
pub(crate) fn require_json(request: &HttpRequest, body: &[u8]) -> Result<(), ApiError> {
    let is = |name: header::HeaderName, expected: &str| {
        request.headers().get(name).is_none_or(|value| {
            let value = value.to_str().unwrap_or_default();
            value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
        })
    };
    let json = is(header::CONTENT_TYPE, "application/json") && is(header::CONTENT_ENCODING, "identity");
    if body.is_empty() || json {
        return Ok(());
    }
    let message = "the body must be application/json, not encoded";
    Err(ApiError::business(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message))
}

/// The body as JSON. What is wrong with its syntax is one problem, without the parser's words: they may quote the body.
pub(crate) fn parse(body: &[u8]) -> Result<Value, Problems> {
    serde_json::from_slice(body).map_err(|_| Problems::of("body", "must be valid JSON"))
}

/// The same for an operation whose body may be left out, which is then an empty object.
pub(crate) fn parse_optional(body: &[u8]) -> Result<Value, Problems> {
    if body.is_empty() { Ok(Value::Object(serde_json::Map::new())) } else { parse(body) }
}
