//! The bytes of an answer and the headers that every answer has.

use actix_web::{HttpResponse, http::StatusCode, http::header};

/// A body that is JSON already.
pub(crate) fn raw(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    // Answers show balances, payments and keys: no cache may keep one.
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, header::HeaderValue::from_static("application/json")))
        .insert_header((header::CACHE_CONTROL, header::HeaderValue::from_static("no-store")))
        .body(body)
}
