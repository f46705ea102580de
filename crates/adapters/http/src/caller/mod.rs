//! Who is calling: found out before any handler runs.

mod api_key;
mod bearer;
mod limit;
mod operator;
mod signature;

use std::sync::Arc;

use actix_web::{HttpRequest, http::header};
use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};
use quipu_merchants::{
    ApiKeyRecord, HmacCredential, KeyEnvelope, Merchant, MerchantStatus, RateLimits, Scope, Scopes,
};

pub(crate) use bearer::Tokens;
pub(crate) use limit::{charge_call, charge_failure};
pub(crate) use operator::Staff;
pub(crate) use signature::{Signed, authenticate as authenticate_signature};

use crate::{error::ApiError, state::AppState};

/// The merchant's key or credential that opened the call.
#[derive(Clone)]
enum Authority {
    Key(Arc<KeyEnvelope<ApiKeyRecord>>),
    Credential(Arc<KeyEnvelope<HmacCredential>>),
}

/// A merchant, authenticated. Only this module's children make one.
pub(crate) struct Caller {
    authority: Authority,
    /// A bearer token's scopes; what its key has lost since is lost to the token too.
    narrowed_to: Option<Scopes>,
}

impl Caller {
    const fn new(authority: Authority) -> Self {
        Self { authority, narrowed_to: None }
    }

    pub(crate) fn tenant(&self) -> Tenant {
        match &self.authority {
            Authority::Key(envelope) => envelope.key.tenant,
            Authority::Credential(envelope) => envelope.key.tenant,
        }
    }

    pub(crate) fn merchant(&self) -> &Merchant {
        match &self.authority {
            Authority::Key(envelope) => &envelope.merchant,
            Authority::Credential(envelope) => &envelope.merchant,
        }
    }

    pub(crate) fn grants(&self, scope: Scope) -> bool {
        let by_key = match &self.authority {
            Authority::Key(envelope) => envelope.key.scopes.grants(scope),
            Authority::Credential(_) => true,
        };
        by_key && self.narrowed_to.as_ref().is_none_or(|scopes| scopes.grants(scope))
    }

    /// All that it may do, as a token for it may carry.
    pub(crate) fn scopes(&self) -> Scopes {
        Scope::ALL.into_iter().filter(|scope| self.grants(*scope)).collect()
    }

    /// What its requests are counted under: a bearer token counts for its key.
    fn subject(&self) -> &str {
        match &self.authority {
            Authority::Key(envelope) => &envelope.key.key_id,
            Authority::Credential(envelope) => &envelope.key.credential_id,
        }
    }

    fn rate_limits(&self) -> &RateLimits {
        match &self.authority {
            Authority::Key(envelope) => &envelope.key.rate_limits,
            Authority::Credential(envelope) => &envelope.key.rate_limits,
        }
    }

    fn if_active(self) -> Result<Self, ApiError> {
        match self.merchant().status {
            MerchantStatus::Active => Ok(self),
            MerchantStatus::Suspended => Err(ApiError::Forbidden {
                code: "MERCHANT_SUSPENDED",
                message: "the merchant is suspended".to_owned(),
            }),
        }
    }
}

/// Opens the door for API keys alone.
pub(crate) async fn by_api_key(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    api_key::authenticate(state, request, now).await?.if_active()
}

/// Opens the door for API keys and for bearer tokens; where both are sent the key counts.
pub(crate) async fn by_key_or_token(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    let caller = match bearer_text(request) {
        Some(token) if !request.headers().contains_key(api_key::X_API_KEY) => {
            bearer::authenticate(state, token, now).await?
        }
        _ => api_key::authenticate(state, request, now).await?,
    };
    caller.if_active()
}

/// Opens the door for staff.
pub(crate) async fn by_operator_token(state: &AppState, request: &HttpRequest) -> Result<Staff, ApiError> {
    operator::authenticate(state, bearer_text(request)).await
}

/// Whether the request brings an operator's token rather than a merchant's.
pub(crate) fn is_staff(request: &HttpRequest) -> bool {
    bearer_text(request).is_some_and(operator::looks_like_one)
        && !request.headers().contains_key(api_key::X_API_KEY)
}

/// The merchant and environment that staff name in path and query; the default environment is live.
pub(crate) async fn tenant_named_by_staff(
    state: &AppState,
    merchant: Option<MerchantId>,
    environment: Option<Environment>,
) -> Result<Tenant, ApiError> {
    let merchant = merchant.ok_or_else(ApiError::merchant_not_found)?;
    state.services.directory.merchant(merchant).await?.ok_or_else(ApiError::merchant_not_found)?;
    Ok(Tenant::new(merchant, environment.unwrap_or(Environment::Live)))
}

/// What follows `Bearer` in `Authorization` (RFC 6750); the word's case does not matter (RFC 9110, section 11.1).
fn bearer_text(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}
