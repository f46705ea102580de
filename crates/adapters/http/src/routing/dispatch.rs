//! From a request to its answer, with the parts of every answer: a request id, the rate budget's headers, a
//! log line.

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, ResponseHead},
    http::{
        ConnectionType, Method, StatusCode, Version,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    web,
};
use futures_util::FutureExt;
use quipu_commit::CallWaits;
use quipu_kernel::{PaymentId, Timestamp};
use quipu_merchants::RateVerdict;
use tracing::{Instrument, Span, field::Empty};

use super::{
    access::Credentials,
    entrance::Entrance,
    long_answers, measure,
    row::RouteRow,
    sending::{Sending, Withheld},
};
use crate::{
    answer::{ApiError, Family, request_id},
    connection::{
        Conversation, Turn,
        proxies::{client, subscriber},
    },
    request::{Outcome, body, call::payment_of},
    state::{AppState, MemoryShare},
};

const X_RATE_LIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Answers one request of a route.
pub(crate) async fn dispatch(
    row: &'static RouteRow,
    state: Arc<AppState>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let mut turn = begin(&request);
    let has_place = turn.as_mut().is_none_or(|turn| {
        turn.take_place(|| client(&request, &state.settings.trusted_proxies).map(subscriber))
    });
    let arrival = Arrival { at: state.services.clock.now(), begun: Instant::now() };
    let payload = payload.into_inner();
    let mut entrance = Entrance::new(row, Arc::clone(&state), request.clone(), payload, arrival.at);
    let request_id = request_id::of_request(request.headers(), state.services.entropy.as_ref());
    let span = span(row, &request_id);
    let outcome = if has_place {
        // Pinned here: such a large future, passed on by value, would be copied several times for each call.
        let opening = pin!(entrance.open());
        let opened = Arc::<CallWaits>::default().around(opening);
        let opened = AssertUnwindSafe(opened).catch_unwind().instrument(span.clone()).await;
        opened.unwrap_or_else(|_| Err(ApiError::Internal { cause: "a handler panicked".to_owned() }))
    } else {
        Err(ApiError::Overloaded)
    };
    let (outcome, room) = long_answers::admit(outcome, request.method(), entrance.caller(), &state.answers);
    let verdict = match &outcome {
        Err(ApiError::RateLimited(verdict)) => Some(*verdict),
        _ => entrance.verdict().copied(),
    };
    let verdict = verdict.as_ref();
    let rest = entrance.leave(verdict.is_none_or(|verdict| verdict.allowed)).await;
    let payment = payment_of(&request);
    if let Some(payment) = &payment {
        span.record("payment_id", payment.as_str());
    }
    let (route, family, credentials) = (Some(row.path()), row.family_for(&request), row.credentials());
    let place = Place { route, family, credentials, payment };
    let (mut response, took) = finish(&request_id, &request, &place, arrival, outcome);
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(verdict) = verdict {
        write_verdict(response.headers_mut(), verdict);
    }
    if let Some(deprecation) = &row.deprecation {
        deprecation.write(response.headers_mut());
    }
    measure::request(row, response.status(), took, verdict);
    if *request.method() == Method::HEAD {
        // The web server would make all pieces and drop them.
        let withheld = Withheld(response.body().size());
        response = response.set_body(BoxBody::new(withheld));
    }
    if request.version() == Version::HTTP_10 && response.body().size() == BodySize::Stream {
        end_with_connection(response.head_mut());
    }
    close_if_stopping(&mut response, &state);
    sending(response, turn, rest, room)
}

/// Sends an answer of unknown length without chunks, which HTTP/1.0 does not have: it ends with its connection (RFC
/// 9112, section 6.3).
fn end_with_connection(head: &mut ResponseHead) {
    head.no_chunking(true);
    head.set_connection_type(ConnectionType::Close);
}

/// Makes every answer the last of its connection once the process is to stop. A client that was not told would send
/// its next request to a server that is gone, and not know whether it was begun (RFC 9112, section 9.6).
fn close_if_stopping(response: &mut HttpResponse, state: &AppState) {
    if state.services.stop.is_given() {
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
}

/// The trace span of one call. It names the route and not the path, which a caller may have filled with
/// anything.
fn span(row: &RouteRow, request_id: &HeaderValue) -> Span {
    tracing::info_span!(
        "call",
        otel.name = format!("{} {}", row.method(), row.path()),
        otel.kind = "server",
        http.request.method = row.method(),
        http.route = row.path(),
        http.response.status_code = Empty,
        request_id = request_id.to_str().unwrap_or_default(),
        payment_id = Empty,
    )
}

/// Begins an exchange on the connection of a request.
pub(crate) fn begin(request: &HttpRequest) -> Option<Turn> {
    request.conn_data::<Rc<Conversation>>().map(Conversation::begin)
}

/// The answer, which holds the turn and its room until it is sent.
pub(crate) fn sending(
    response: HttpResponse,
    turn: Option<Turn>,
    rest: Option<Payload>,
    room: Option<MemoryShare>,
) -> HttpResponse {
    if turn.is_none() && rest.is_none() && room.is_none() {
        return response;
    }
    response.map_body(|_, answer| BoxBody::new(Sending::new(answer, turn, rest, room)))
}

/// Answers a request that matches no route: its path has none, or not with this method.
pub(crate) async fn refuse(
    state: Arc<AppState>,
    request: HttpRequest,
    payload: web::Payload,
    family: Family,
    error: ApiError,
) -> HttpResponse {
    answer_unrouted(state, request, payload, family, Err(error)).await
}

/// Answers `OPTIONS` with the methods of a path.
pub(crate) async fn options(
    state: Arc<AppState>,
    request: HttpRequest,
    payload: web::Payload,
    allow: String,
) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::NO_CONTENT);
    response.insert_header((header::ALLOW, allow));
    answer_unrouted(state, request, payload, Family::Api, Ok(response.finish())).await
}

/// Answers without a route. The body is not needed, but the next request begins only after it.
async fn answer_unrouted(
    state: Arc<AppState>,
    request: HttpRequest,
    payload: web::Payload,
    family: Family,
    outcome: Outcome,
) -> HttpResponse {
    let (begun, turn) = (Instant::now(), begin(&request));
    let rest = unread(&request, payload).await;
    let arrival = Arrival { at: state.services.clock.now(), begun };
    let place = Place { route: None, family, credentials: Credentials::None, payment: None };
    let request_id = request_id::of_request(request.headers(), state.services.entropy.as_ref());
    let (mut response, _) = finish(&request_id, &request, &place, arrival, outcome);
    close_if_stopping(&mut response, &state);
    sending(response, turn, rest, None)
}

/// The body that nobody reads; `None` if it was short and has arrived.
pub(crate) async fn unread(request: &HttpRequest, payload: web::Payload) -> Option<Payload> {
    let mut rest = payload.into_inner();
    let is_over = !body::is_announced(request)
        || !request.headers().contains_key(header::EXPECT) && body::is_soon_over(&mut rest).await;
    (!is_over).then_some(rest)
}

/// When a request arrived.
#[derive(Clone, Copy)]
struct Arrival {
    /// The time of day, which is the `timestamp` of an error's answer.
    at: Timestamp,
    /// The same on a clock that only runs forward, from which the duration is measured.
    begun: Instant,
}

/// The route that a request arrived at.
struct Place {
    route: Option<&'static str>,
    family: Family,
    credentials: Credentials,
    /// The payment that the call is about.
    payment: Option<PaymentId>,
}

/// Writes the answer's common headers, and a log line with the outcome and the duration. The line names the
/// route and not the path, which a caller may have filled with anything.
fn finish(
    request_id: &HeaderValue,
    request: &HttpRequest,
    place: &Place,
    arrival: Arrival,
    outcome: Outcome,
) -> (HttpResponse, Duration) {
    let (shown_id, route) = (request_id.to_str().unwrap_or_default(), place.route);
    let mut response = match outcome {
        Ok(response) => response,
        Err(error) => {
            match &error {
                ApiError::Internal { cause } | ApiError::OutcomeUnknown { cause } => {
                    tracing::error!(request_id = shown_id, route, cause, "a request failed");
                }
                ApiError::CreationUnknown { id, cause, .. } => {
                    tracing::warn!(
                        request_id = shown_id,
                        payment_id = id.as_str(),
                        cause,
                        "the outcome of a creation is unknown"
                    );
                }
                ApiError::Unavailable { cause } => {
                    tracing::warn!(
                        request_id = shown_id,
                        route,
                        cause,
                        "a request was answered 503; nothing was changed"
                    );
                }
                _ => {}
            }
            error.into_response(place.family, arrival.at)
        }
    };
    let took = arrival.begun.elapsed();
    tracing::info!(
        request_id = shown_id,
        method = known(request.method()),
        route,
        payment_id = place.payment.as_ref().map(PaymentId::as_str),
        status = response.status().as_u16(),
        seconds = took.as_secs_f64(),
        "request"
    );
    let is_unauthorized = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(request_id::X_REQUEST_ID, request_id.clone());
    if is_unauthorized {
        for challenge in place.credentials.challenges() {
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
    }
    (response, took)
}

/// The name of a method for the log. A client may invent a method, of any length.
fn known(method: &Method) -> &str {
    const KNOWN: [Method; 9] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::CONNECT,
        Method::TRACE,
    ];
    if KNOWN.contains(method) { method.as_str() } else { "other" }
}

fn write_verdict(headers: &mut HeaderMap, verdict: &RateVerdict) {
    headers.insert(X_RATE_LIMIT_LIMIT, verdict.limit.into());
    headers.insert(X_RATE_LIMIT_REMAINING, verdict.remaining.into());
    headers.insert(X_RATE_LIMIT_RESET, verdict.reset_epoch_seconds.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_a_client_invented_is_not_logged() {
        for (sent, expected) in
            [("GET", "GET"), ("PATCH", "PATCH"), ("get", "other"), (&"X".repeat(100_000), "other")]
        {
            let method = Method::from_bytes(sent.as_bytes()).expect("a method");
            assert_eq!(known(&method), expected);
        }
    }
}
