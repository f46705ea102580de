//! API keys as they are stored: never the key itself.

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    merchant::{MAX_NAME, Merchant},
    scope::{Scope, Scopes},
};

/// Limits of one key or credential that differ from the configured ones; absent members follow the configuration.
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

impl RateLimits {
    /// Reads the member `rate_limits` of what staff wrote; without it there are none.
    pub(crate) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Self {
        let Some(members) = fields.object("rate_limits", problems) else { return Self::default() };
        members.refuse_unknown(&["create_per_minute", "create_per_10s", "standard_per_minute"], problems);
        let mut limit = |name: &str| {
            let limit = u32::try_from(members.integer(name, problems)?).ok().filter(|limit| *limit > 0);
            if limit.is_none() {
                problems.add(&members.path(name), "must be from 1 to 4294967295");
            }
            limit
        };
        Self {
            create_per_minute: limit("create_per_minute"),
            create_per_10s: limit("create_per_10s"),
            standard_per_minute: limit("standard_per_minute"),
        }
    }
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

    /// Whether the key is accepted at this instant. A revocation is never set for later, so its time does not matter.
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.revoked_at.is_none() && !self.has_expired(at)
    }

    /// Whether the key is refused as expired at this instant.
    pub fn has_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
    }

    /// The key as staff see it; its merchant is not named.
    pub fn shown(&self) -> Value {
        json!({
            "key_id": self.key_id,
            "environment": self.tenant.environment(),
            "name": self.name,
            "last_four": self.last_four,
            "scopes": self.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
            "rate_limits": self.rate_limits,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "last_used_at": self.last_used_at,
            "created_at": self.created_at,
        })
    }
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

impl NewApiKey {
    /// Reads what staff wrote. A key gets every scope unless a list is given; one with an empty list can
    /// call only what needs no scope.
    pub fn parse(merchant: MerchantId, body: &Value, now: Timestamp) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let environment = fields.required_parsed::<Environment>("environment", &mut problems);
        let name = fields.text("name", MAX_NAME, &mut problems).unwrap_or_default().to_owned();
        let scopes = Scopes::read(&fields, &mut problems).unwrap_or_else(Scopes::all);
        let expires_at = fields.future_instant("expires_at", now, &mut problems);
        let rate_limits = RateLimits::read(&fields, &mut problems);
        let new = environment.map(|environment| {
            let tenant = Tenant::new(merchant, environment);
            Self { tenant, name, scopes, rate_limits, expires_at }
        });
        problems.admit(new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_683_200_000);

    fn read(body: &Value) -> Result<NewApiKey, Vec<String>> {
        NewApiKey::parse(MerchantId(7), body, NOW).map_err(Problems::into_messages)
    }

    #[test]
    fn a_key_may_do_everything_unless_scopes_are_named() {
        let scopes =
            |scopes: Value| read(&json!({ "environment": "test", "scopes": scopes })).map(|key| key.scopes);
        assert_eq!(scopes(Value::Null), Ok(Scopes::all()));
        let some = scopes(json!(["payments.view", "balance.read"])).expect("known scopes");
        assert_eq!(some.to_text(), "payments.read balance.read");
        assert_eq!(scopes(json!([])), Ok(Scopes::default()));
        let unknown = "scopes must be known scopes, such as payments.create";
        assert_eq!(scopes(json!(["payments.steal"])), Err(vec![unknown.to_owned()]));
    }

    #[test]
    fn a_key_ends_with_its_time_or_its_revocation() {
        for (end, is_active) in [(None, true), (Some(1), true), (Some(0), false), (Some(-1), false)] {
            let key = ApiKeyRecord {
                key_id: "1".to_owned(),
                tenant: Tenant::new(MerchantId(7), Environment::Live),
                name: String::new(),
                hash: "00".to_owned(),
                last_four: "abcd".to_owned(),
                scopes: Scopes::all(),
                rate_limits: RateLimits::default(),
                expires_at: end.map(|millis| Timestamp::from_millis(NOW.millis() + millis)),
                revoked_at: None,
                last_used_at: None,
                created_at: NOW,
            };
            assert_eq!((key.is_active(NOW), key.has_expired(NOW)), (is_active, !is_active), "{end:?}");
            let revoked = ApiKeyRecord { revoked_at: Some(NOW), ..key };
            assert!(!revoked.is_active(NOW), "{end:?}");
        }
    }

    #[test]
    fn limits_of_a_key_are_each_from_one_to_the_largest_number() {
        let body = |limits: Value| json!({ "environment": "live", "rate_limits": limits });
        let limits = json!({ "create_per_minute": 1, "create_per_10s": 4_294_967_295_i64 });
        let limits = read(&body(limits)).expect("within their bounds").rate_limits;
        let expected = RateLimits {
            create_per_minute: Some(1),
            create_per_10s: Some(4_294_967_295),
            standard_per_minute: None,
        };
        assert_eq!(limits, expected);
        for name in ["create_per_minute", "create_per_10s", "standard_per_minute"] {
            for limit in [-1, 0, 4_294_967_296_i64] {
                let told = read(&body(json!({ name: limit }))).map(|_| ());
                let problem = format!("rate_limits.{name} must be from 1 to 4294967295");
                assert_eq!(told, Err(vec![problem]), "{limit}");
            }
        }
    }

    #[test]
    fn everything_that_is_wrong_with_a_key_is_told_at_once() {
        let limits =
            json!({ "create_per_minute": 0, "standard_per_minute": 4_294_967_296_i64, "per_day": 1 });
        let body = json!({
            "environment": "moon",
            "name": "x".repeat(256),
            "scopes": [],
            "expires_at": "2020-01-01T00:00:00Z",
            "rate_limits": limits,
        });
        let told = read(&body).map(|_| ()).expect_err("nothing in it is right");
        let expected = [
            "environment must be one of test, live",
            "name must be at most 255 characters",
            "expires_at must be an ISO 8601 instant in the future",
            "rate_limits.per_day is not a known member",
            "rate_limits.create_per_minute must be from 1 to 4294967295",
            "rate_limits.standard_per_minute must be from 1 to 4294967295",
        ];
        assert_eq!(told, expected);
    }
}
