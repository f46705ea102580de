//! The bodies of answers, with the headers of each kind.

use actix_web::{
    HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
    web::Bytes,
};
use futures_util::{Stream, StreamExt};

use crate::stop::Stop;

/// An answer with a body that is JSON already.
pub(crate) fn raw(status: StatusCode, body: impl Into<Bytes>) -> HttpResponse {
    // Answers contain balances, payments and keys: no cache may keep one.
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static("application/json")))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .body(body.into())
}

/// An HTML page under the strictest policy. A page that loads something adds it to `policy`.
pub(crate) fn page(status: StatusCode, policy: &'static str, html: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .insert_header((header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)))
        .insert_header((header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .insert_header((HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex")))
        .body(html.into())
}

/// An answer that is sent piece by piece. It ends with the last piece, or when the process is to stop.
pub(crate) fn stream(
    stop: &Stop,
    content_type: &'static str,
    pieces: impl Stream<Item = Bytes> + 'static,
) -> HttpResponse {
    let pieces = pieces.take_until(stop.clone().given());
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(content_type)))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        // A proxy that buffers the whole answer would hold back pieces that must be seen at once.
        .insert_header((HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")))
        .streaming(pieces.map(Ok::<_, std::convert::Infallible>))
}
