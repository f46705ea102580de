//! API keys as they are stored: never the key itself.

use quipu_kernel::{Tenant, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{merchant::Merchant, scope::Scopes};

/// Limits of one key that differ from the configured ones; absent members follow the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimits {
    /// Payment creations in any minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_per_minute: Option<u32>,
    /// Payment creations in any ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_per_10s: Option<u32>,
    /// Everything else in any minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_per_minute: Option<u32>,
}

/// An issued API key, known by the keyed hash of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyRecord {
    /// Identifier shown to the operator (UUID).
    pub key_id: String,
    /// The merchant and the environment that the key is for.
    pub tenant: Tenant,
    /// A label for people, at most 255 characters.
    pub name: String,
    /// Hex of HMAC-SHA256 over the key's text.
    pub hash: String,
    /// The key's last four characters, to tell keys apart.
    pub last_four: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Its own limits, where they differ.
    pub rate_limits: RateLimits,
    /// From when on it is refused with `API_KEY_EXPIRED`.
    pub expires_at: Option<Timestamp>,
    /// Since when it is refused with `API_KEY_REVOKED`.
    pub revoked_at: Option<Timestamp>,
    /// When it last opened a call, to a few seconds.
    pub last_used_at: Option<Timestamp>,
    /// When it was issued.
    pub created_at: Timestamp,
}

impl ApiKeyRecord {
    /// Why a merchant on v2 gets no API key.
    pub const ONLY_V1: &str = "the merchant is on v2, where calls are signed; API keys are for v1";
}

/// A key or credential with its merchant: all that is needed to decide whether a call is allowed.
#[derive(Debug, Clone)]
pub struct KeyEnvelope<K> {
    /// The key or credential.
    pub key: K,
    /// The merchant that owns it.
    pub merchant: Merchant,
}

/// An API key to be issued.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// The merchant and the environment that the key is for.
    pub tenant: Tenant,
    /// A label for people, at most 255 characters.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Its own limits, where they differ from the configured ones.
    pub rate_limits: RateLimits,
    /// When it expires; `None` if it does not.
    pub expires_at: Option<Timestamp>,
}
