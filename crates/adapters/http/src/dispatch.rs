//! The way of every request from its row in the table to its answer.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{HeaderMap, HeaderName},
    },
    web::{self, Bytes},
};
use futures_util::FutureExt;
use quipu_kernel::{Environment, Problems, Tenant, Timestamp};
use quipu_merchants::Verdict;

use crate::{
    body,
    call::{Call, Outcome, merchant_in_path},
    caller::{self, Caller, Signed},
    door::{Door, Needs, RouteRow},
    error::ApiError,
    measure,
    query::Query,
    request_id,
    state::AppState,
};

const X_RATE_LIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATE_LIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Answers one request of a route.
pub(crate) async fn dispatch(
    row: &'static RouteRow,
    state: Arc<AppState>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> HttpResponse {
    let now = state.services.clock.now();
    let begun = Instant::now();
    let mut verdict = None;
    let entered = enter(row, &state, &request, &mut payload, now, &mut verdict);
    let outcome = match AssertUnwindSafe(entered).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => Err(ApiError::Internal { cause: "a handler panicked".to_owned() }),
    };
    if *request.method() == Method::GET && body::is_announced(&request) {
        // Nobody has a use for it, but the next request of the connection comes after it.
        body::drain(&mut payload, state.settings.body_timeout).await;
    }
    let (response, took) =
        finish(&state, &request, Some(row.path()), (now, begun), outcome, verdict.as_ref());
    measure::request(row, response.status(), took, verdict.as_ref());
    response
}

/// Answers one request without a route.
pub(crate) async fn refuse(
    state: Arc<AppState>,
    request: HttpRequest,
    mut payload: web::Payload,
    error: ApiError,
) -> HttpResponse {
    let begun = Instant::now();
    body::drain(&mut payload, state.settings.body_timeout).await;
    let now = state.services.clock.now();
    finish(&state, &request, None, (now, begun), Err(error), None).0
}

/// Opens the row's door, and runs its handler. The order of the checks: credentials, version, rate limit, suspension,
/// scope, and only then the request itself. So every call of a key or credential is counted, whatever is answered.
async fn enter(
    row: &'static RouteRow,
    state: &Arc<AppState>,
    request: &HttpRequest,
    payload: &mut web::Payload,
    now: Timestamp,
    verdict: &mut Option<Verdict>,
) -> Outcome {
    let call = |body| Call { state: Arc::clone(state), request: request.clone(), body, now };
    let read = |payload| read_body(state, request, payload);
    match row.door {
        Door::Public(run) => run(call(Bytes::new())).await,
        Door::ApiKey(needs, run) => {
            let caller = caller::by_api_key(state, request, now).await;
            let caller = admit(state, request, payload, caller, needs, verdict).await?;
            run(call(read(payload).await?), caller).await
        }
        Door::KeyOrToken(needs, run) => {
            let caller = caller::by_key_or_token(state, request, now).await;
            let caller = admit(state, request, payload, caller, needs, verdict).await?;
            run(call(read(payload).await?), caller).await
        }
        Door::Scoped(needs, run) => {
            let tenant = scoped_tenant(state, request, payload, now, needs, verdict).await?;
            run(call(read(payload).await?), tenant).await
        }
        Door::Signed(needs, run) => {
            let (body, Signed { caller, nonce }) =
                by_signature(state, request, payload, now, needs, verdict).await?;
            state.services.create.burn(caller.tenant(), nonce).await?;
            body::require_json(request, &body)?;
            run(call(body), caller).await
        }
        Door::SignedCreation(needs, run) => {
            let (body, signed) = by_signature(state, request, payload, now, needs, verdict).await?;
            run(call(body), signed).await
        }
        Door::Staff(role, run) => {
            let staff = caller::by_operator_token(state, request).await;
            let staff = charged(state, request, payload, staff, verdict).await?;
            if let Err(error) = staff.require(role) {
                body::drain(payload, state.settings.body_timeout).await;
                return Err(error);
            }
            run(call(read(payload).await?), staff).await
        }
    }
}

/// A merchant by a signed request. Its body is under the signature, so it is read before it is known who sent it, and one
/// that cannot be read is a failure of authentication too. That of a `GET` counts as empty, whatever is sent.
async fn by_signature(
    state: &AppState,
    request: &HttpRequest,
    payload: &mut web::Payload,
    now: Timestamp,
    needs: Needs,
    verdict: &mut Option<Verdict>,
) -> Result<(Bytes, Signed), ApiError> {
    let claim = caller::claim_signature(state, request, now).await;
    let claim = charged(state, request, payload, claim, verdict).await?;
    let body = match *request.method() {
        Method::GET => Bytes::new(),
        _ => match body::read(request, payload, state.settings.body_timeout).await {
            Ok(body) => body,
            Err(error) => return Err(charge_failure(state, request, error, verdict).await),
        },
    };
    let signed = caller::authenticate_signature(state, request, &claim, &body).await;
    let Signed { caller, nonce } = charged(state, request, payload, signed, verdict).await?;
    let caller = admit(state, request, payload, Ok(caller), needs, verdict).await?;
    Ok((body, Signed { caller, nonce }))
}

/// The merchant that the path names: the caller's own, or any for staff.
async fn scoped_tenant(
    state: &AppState,
    request: &HttpRequest,
    payload: &mut web::Payload,
    now: Timestamp,
    needs: Needs,
    verdict: &mut Option<Verdict>,
) -> Result<Tenant, ApiError> {
    let named = merchant_in_path(request);
    if caller::is_staff(request) {
        let staff = caller::by_operator_token(state, request).await;
        charged(state, request, payload, staff, verdict).await?;
        let mut problems = Problems::new();
        let query = Query::parse(request.query_string())?;
        let environment = query.parsed::<Environment>("environment", &mut problems);
        return if problems.is_empty() {
            caller::tenant_named_by_staff(state, named, environment).await
        } else {
            Err(problems.into())
        };
    }
    let caller = caller::by_key_or_token(state, request, now).await;
    let caller = admit(state, request, payload, caller, needs, verdict).await?;
    let tenant = caller.tenant();
    if named == Some(tenant.merchant()) { Ok(tenant) } else { Err(ApiError::merchant_not_found()) }
}

/// Lets an authenticated merchant in, if its rate, its status and its scopes allow.
async fn admit(
    state: &AppState,
    request: &HttpRequest,
    payload: &mut web::Payload,
    caller: Result<Caller, ApiError>,
    needs: Needs,
    verdict: &mut Option<Verdict>,
) -> Result<Caller, ApiError> {
    let caller = charged(state, request, payload, caller, verdict).await?;
    let limited = caller::charge_call(state, &caller, needs.budget).await;
    *verdict = Some(limited);
    let admitted =
        if limited.allowed { caller.may(needs.scope) } else { Err(ApiError::RateLimited(limited)) };
    if admitted.is_err() {
        body::drain(payload, state.settings.body_timeout).await;
    }
    admitted.map(|()| caller)
}

/// Passes who was authenticated on, and charges a failure.
async fn charged<T>(
    state: &AppState,
    request: &HttpRequest,
    payload: &mut web::Payload,
    authenticated: Result<T, ApiError>,
    verdict: &mut Option<Verdict>,
) -> Result<T, ApiError> {
    let error = match authenticated {
        Ok(caller) => return Ok(caller),
        Err(error) => error,
    };
    body::drain(payload, state.settings.body_timeout).await;
    if matches!(error, ApiError::Unauthorized { .. }) {
        return Err(charge_failure(state, request, error, verdict).await);
    }
    Err(error)
}

/// Charges a failure of authentication to the client's address; beyond its budget the answer is 429.
async fn charge_failure(
    state: &AppState,
    request: &HttpRequest,
    error: ApiError,
    verdict: &mut Option<Verdict>,
) -> ApiError {
    let limited = caller::charge_failure(state, request).await;
    *verdict = Some(limited);
    if limited.allowed { error } else { ApiError::RateLimited(limited) }
}

/// The body of a method that has one.
async fn read_body(
    state: &AppState,
    request: &HttpRequest,
    payload: &mut web::Payload,
) -> Result<Bytes, ApiError> {
    if *request.method() == Method::GET {
        return Ok(Bytes::new());
    }
    let body = body::read(request, payload, state.settings.body_timeout).await?;
    body::require_json(request, &body)?;
    Ok(body)
}

/// Writes the answer's common headers, and to the log what happened and how long it took. A line names the route and not
/// the path, which a caller may have filled with anything.
fn finish(
    state: &AppState,
    request: &HttpRequest,
    route: Option<&'static str>,
    (now, begun): (Timestamp, Instant),
    outcome: Outcome,
    verdict: Option<&Verdict>,
) -> (HttpResponse, Duration) {
    let request_id = request_id::of_request(request.headers(), state.services.entropy.as_ref());
    let shown_id = request_id.to_str().unwrap_or_default();
    let mut response = match outcome {
        Ok(response) => response,
        Err(error) => {
            if let ApiError::Internal { cause } = &error {
                tracing::error!(request_id = shown_id, route, cause, "a request failed");
            }
            error.into_response(now)
        }
    };
    let took = begun.elapsed();
    tracing::info!(
        request_id = shown_id,
        method = request.method().as_str(),
        route,
        status = response.status().as_u16(),
        seconds = took.as_secs_f64(),
        "request"
    );
    let headers = response.headers_mut();
    headers.insert(request_id::X_REQUEST_ID, request_id);
    if let Some(verdict) = verdict {
        write_verdict(headers, verdict);
    }
    (response, took)
}

fn write_verdict(headers: &mut HeaderMap, verdict: &Verdict) {
    headers.insert(X_RATE_LIMIT_LIMIT, verdict.limit.into());
    headers.insert(X_RATE_LIMIT_REMAINING, verdict.remaining.into());
    headers.insert(X_RATE_LIMIT_RESET, verdict.reset_epoch_seconds.into());
}
