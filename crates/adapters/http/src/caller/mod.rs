//! Authentication: finds out who is calling before any handler runs.

mod api_key;
mod bearer;
mod credential_header;
mod identity;
mod limit;
mod operator;
pub(crate) mod pressure;
mod provider;
mod signature;
mod verified_nonce;

use actix_web::{HttpRequest, http::header};
use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};

use credential_header::CredentialHeader;
pub(crate) use identity::Caller;
pub(crate) use limit::{address_of, charge_address, charge_call, charge_callback};
pub(crate) use operator::AuthenticatedOperator;
pub(crate) use provider::Provider;
pub(crate) use signature::{Signed, authenticate as authenticate_signature, claim as claim_signature};
pub(crate) use verified_nonce::VerifiedNonce;

use crate::{
    answer::ApiError,
    state::{AppState, Asked},
};

/// Authenticates by an API key alone.
pub(crate) async fn by_api_key(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    api_key::authenticate(state, request, now).await
}

/// Authenticates by an API key or a bearer token; if both are sent the key counts.
pub(crate) async fn by_key_or_token(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    match bearer_text(request) {
        Some(token) if !request.headers().contains_key(api_key::X_API_KEY) => {
            bearer::authenticate(state, token, now).await
        }
        _ => api_key::authenticate(state, request, now).await,
    }
}

/// Authenticates a member of staff.
pub(crate) async fn by_operator_token(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<AuthenticatedOperator, ApiError> {
    operator::authenticate(state, request, bearer_text(request), now).await
}

/// Permits the look-up of a credential: at once if it was found lately or its address is in good standing,
/// otherwise only at a limited rate per second.
async fn permit_lookup(
    state: &AppState,
    request: &HttpRequest,
    credential: &str,
    now: Timestamp,
) -> Result<(), ApiError> {
    match state.lookups.asked(|| address_of(state, request), credential, now) {
        Asked::Freely => Ok(()),
        Asked::Distrusted => {
            let verdict = charge_address(state, request, quipu_merchants::AddressBudget::Lookups).await;
            if verdict.allowed { Ok(()) } else { Err(ApiError::RateLimited(verdict)) }
        }
    }
}

/// Whether the request carries an operator's token rather than a merchant's.
pub(crate) fn is_staff(request: &HttpRequest) -> bool {
    bearer_text(request).is_some_and(operator::looks_like_one)
        && !request.headers().contains_key(api_key::X_API_KEY)
}

/// The merchant and environment that staff name in the path and the query; the default environment is live.
pub(crate) async fn tenant_named_by_staff(
    state: &AppState,
    merchant: Option<MerchantId>,
    environment: Option<Environment>,
) -> Result<Tenant, ApiError> {
    let merchant = merchant.ok_or_else(ApiError::merchant_not_found)?;
    state
        .services
        .caller_book
        .remembered_merchant(merchant)
        .await?
        .ok_or_else(ApiError::merchant_not_found)?;
    Ok(Tenant::new(merchant, environment.unwrap_or(Environment::Live)))
}

/// The text after `Bearer` in `Authorization` (RFC 6750); the word's case does not matter (RFC 9110, section
/// 11.1).
fn bearer_text(request: &HttpRequest) -> Option<&str> {
    match CredentialHeader::read(request, &header::AUTHORIZATION) {
        CredentialHeader::Nothing => None,
        CredentialHeader::Text(value) => {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
        }
        CredentialHeader::Unusable => Some(""),
    }
}
