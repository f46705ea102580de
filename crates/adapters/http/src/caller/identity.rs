//! A merchant that has shown who it is.

use std::sync::Arc;

use quipu_kernel::Tenant;
use quipu_merchants::{
    ApiKeyRecord, HmacCredential, KeyEnvelope, Merchant, MerchantStatus, RateLimits, Scope, Scopes,
};

use crate::{
    code::ErrorCode,
    error::ApiError,
    tokens::{Bearer, KeyKind},
};

/// The merchant's key or credential that opened the call.
#[derive(Clone)]
pub(super) enum Authority {
    Key(Arc<KeyEnvelope<ApiKeyRecord>>),
    Credential(Arc<KeyEnvelope<HmacCredential>>),
}

/// A merchant, authenticated. Only this module's children make one.
pub(crate) struct Caller {
    pub(super) authority: Authority,
    /// A bearer token's scopes; what its key has lost since is lost to the token too.
    pub(super) narrowed_to: Option<Scopes>,
}

impl Caller {
    pub(super) const fn new(authority: Authority) -> Self {
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
    pub(super) fn subject(&self) -> &str {
        match &self.authority {
            Authority::Key(envelope) => &envelope.key.key_id,
            Authority::Credential(envelope) => &envelope.key.credential_id,
        }
    }

    pub(super) fn rate_limits(&self) -> &RateLimits {
        match &self.authority {
            Authority::Key(envelope) => &envelope.key.rate_limits,
            Authority::Credential(envelope) => &envelope.key.rate_limits,
        }
    }

    /// What a token for it stands for.
    pub(crate) fn bearer(&self) -> Bearer<'_> {
        let (key_kind, key_id) = match &self.authority {
            Authority::Key(envelope) => (KeyKind::ApiKey, &envelope.key.key_id),
            Authority::Credential(envelope) => (KeyKind::HmacCredential, &envelope.key.credential_id),
        };
        Bearer { tenant: self.tenant(), key_kind, key_id }
    }

    /// Whether its merchant may act, and it may do what needs this scope.
    pub(crate) fn may(&self, scope: Option<Scope>) -> Result<(), ApiError> {
        if self.merchant().status == MerchantStatus::Suspended {
            return Err(ApiError::refused(ErrorCode::MerchantSuspended, "the merchant is suspended"));
        }
        match scope {
            Some(scope) if !self.grants(scope) => Err(ApiError::scope_missing(scope)),
            _ => Ok(()),
        }
    }
}
