//! v2 credentials as they are stored.

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Tenant, Timestamp};
use serde_json::Value;

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

    /// Whether it verifies signatures. It ends only by a revocation, which is never set for later.
    pub const fn is_active(&self) -> bool {
        self.revoked_at.is_none()
    }

    /// The context to which the sealed secret is bound, so that a row copied elsewhere opens nothing.
    pub fn seal_context(credential_id: &str) -> String {
        format!("hmac-credential/{credential_id}")
    }
}

/// A v2 credential to be issued.
#[derive(Debug, Clone, Copy)]
pub struct NewCredential {
    /// The merchant that will own it, and the environment that it selects.
    pub tenant: Tenant,
    /// Its own limits, where they differ from the configured ones.
    pub rate_limits: RateLimits,
}

impl NewCredential {
    /// A credential with the configured limits.
    pub fn usual(tenant: Tenant) -> Self {
        Self { tenant, rate_limits: RateLimits::default() }
    }

    /// Reads what staff wrote; the problems are those of each member that is wrong.
    pub fn parse(merchant: MerchantId, body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let environment = fields.required_parsed::<Environment>("environment", &mut problems);
        let rate_limits = RateLimits::read(&fields, &mut problems);
        problems.admit(
            environment.map(|environment| Self { tenant: Tenant::new(merchant, environment), rate_limits }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merchant::Merchant;

    #[test]
    fn every_secret_is_sealed_for_a_place_of_its_own() {
        let of_merchants = [1, 2, 12].into_iter().flat_map(|id| {
            Environment::ALL.map(|environment| Merchant::seal_context(MerchantId(id), environment))
        });
        let of_credentials = ["1", "2", "12"].into_iter().map(HmacCredential::seal_context);
        let all: Vec<_> = of_merchants.chain(of_credentials).collect();
        let apart: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(apart.len(), all.len(), "{all:?}");
    }
}
