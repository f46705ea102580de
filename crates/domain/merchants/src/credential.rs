//! v2 credentials as they are stored.

use quipu_kernel::{Tenant, Timestamp};

use crate::api_key::RateLimits;

/// A v2 HMAC credential. The secret must be recovered to verify a signature, so it is kept sealed. A merchant has
/// at most [`HmacCredential::MOST_ACTIVE`] active ones in an environment, which allows rotation with an overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HmacCredential {
    /// Identifier shown to the operator (UUID).
    pub credential_id: String,
    /// The merchant that owns it, and the environment that it selects.
    pub tenant: Tenant,
    /// The secret, sealed under the context [`HmacCredential::seal_context`].
    pub sealed_secret: String,
    /// Its own limits, where they differ.
    pub rate_limits: RateLimits,
    /// Since when it verifies nothing.
    pub revoked_at: Option<Timestamp>,
    /// When it was issued.
    pub created_at: Timestamp,
}

impl HmacCredential {
    /// Active credentials that a merchant may have in one environment.
    pub const MOST_ACTIVE: usize = 2;

    /// The context to which the sealed secret is bound, so that a row copied elsewhere opens nothing.
    pub fn seal_context(credential_id: &str) -> String {
        format!("hmac-credential/{credential_id}")
    }
}
