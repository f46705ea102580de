//! An authenticated merchant.

use std::sync::Arc;

use quipu_kernel::Tenant;
use quipu_merchants::{
    ApiKeyRecord, HmacCredential, KeyEnvelope, Merchant, MerchantStatus, RateLimits, Scope, Scopes,
};

use crate::{
    answer::{ApiError, ErrorCode},
    state::{Bearer, KeyKind},
};

/// The merchant's key or credential that authenticated the call.
#[derive(Clone)]
pub(super) enum Authority {
    Key(Arc<KeyEnvelope<ApiKeyRecord>>),
    Credential(Arc<KeyEnvelope<HmacCredential>>),
}

/// An authenticated merchant. Only the children of this module construct one.
pub(crate) struct Caller {
    pub(super) authority: Authority,
    /// The scopes of a bearer token. A scope that its key has lost since is lost to the token too.
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

    /// All scopes of the caller, as a token for it may carry them.
    pub(crate) fn scopes(&self) -> Scopes {
        Scope::ALL.into_iter().filter(|scope| self.grants(*scope)).collect()
    }

    /// The name under which its requests are counted: a bearer token counts for its key.
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

    /// The key or credential that a token for this caller stands for.
    pub(crate) fn bearer(&self) -> Bearer<'_> {
        let (key_kind, key_id) = match &self.authority {
            Authority::Key(envelope) => (KeyKind::ApiKey, &envelope.key.key_id),
            Authority::Credential(envelope) => (KeyKind::HmacCredential, &envelope.key.credential_id),
        };
        Bearer { tenant: self.tenant(), key_kind, key_id }
    }

    /// Refuses if the merchant is suspended or the caller lacks this scope.
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
