//! Bearer tokens: EdDSA JWTs (RFC 7519, RFC 8037) that stand for a key or credential for a while.

use std::{collections::HashMap, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use quipu_commit::MAX_CLOCK_SKEW;
use quipu_kernel::{Entropy, Environment, Tenant, Timestamp, base62};
use quipu_merchants::Scopes;
use quipu_signing::Keyring;
use serde::{Deserialize, Serialize};

use crate::answer::{ApiError, ErrorCode};

/// The longest life of a token.
pub(crate) const LONGEST: Duration = Duration::from_hours(1);

/// The kind of key that a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyKind {
    ApiKey,
    HmacCredential,
}

/// The claims of a token.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    pub(crate) sub: String,
    pub(crate) env: Environment,
    pub(crate) scope: String,
    iat: i64,
    exp: i64,
    jti: String,
    pub(crate) key_kind: KeyKind,
    pub(crate) key_id: String,
}

/// The key or credential that a token stands for.
pub(crate) struct Bearer<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) key_kind: KeyKind,
    pub(crate) key_id: &'a str,
}

/// A new token, as it is answered.
#[derive(Serialize)]
pub(crate) struct IssuedToken {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    scope: String,
}

/// One public key as `/.well-known/jwks.json` shows it (RFC 7517).
#[derive(Serialize)]
pub(crate) struct Jwk {
    kty: &'static str,
    crv: &'static str,
    alg: &'static str,
    #[serde(rename = "use")]
    usage: &'static str,
    kid: String,
    x: String,
}

/// The keys that sign and verify tokens.
pub(crate) struct Tokens {
    header: Header,
    signing: EncodingKey,
    known: HashMap<String, DecodingKey>,
    public: Vec<Jwk>,
    validation: Validation,
    issuer: String,
}

impl Tokens {
    pub(crate) fn new(keyring: &Keyring, issuer: &str) -> Self {
        let current = keyring.token_key();
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(current.key_id().to_owned());
        let mut validation = Validation::new(Algorithm::EdDSA);
        // The time is judged by the clock port below.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        // The issuer is not checked, since only this gateway has these keys: a token is valid on every node,
        // and stays valid when the gateway's address changes.
        let known = keyring.token_keys();
        let known = known.map(|key| (key.key_id().to_owned(), DecodingKey::from_ed_der(key.public_bytes())));
        let public = keyring.token_keys().map(|key| Jwk {
            kty: "OKP",
            crv: "Ed25519",
            alg: "EdDSA",
            usage: "sig",
            kid: key.key_id().to_owned(),
            x: key.jwk_x(),
        });
        Self {
            header,
            signing: EncodingKey::from_ed_der(current.private_pkcs8()),
            known: known.collect(),
            public: public.collect(),
            validation,
            issuer: issuer.to_owned(),
        }
    }

    /// The public keys.
    pub(crate) fn public_keys(&self) -> &[Jwk] {
        &self.public
    }

    /// A token for `bearer`, with these scopes.
    pub(crate) fn issue(
        &self,
        bearer: &Bearer<'_>,
        scopes: &Scopes,
        lifetime: Duration,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<IssuedToken, ApiError> {
        let claims = Claims {
            iss: self.issuer.clone(),
            sub: bearer.tenant.merchant().to_string(),
            env: bearer.tenant.environment(),
            scope: scopes.to_text(),
            iat: now.seconds(),
            exp: now.plus(lifetime).seconds(),
            jti: base62(entropy, 22),
            key_kind: bearer.key_kind,
            key_id: bearer.key_id.to_owned(),
        };
        let access_token = jsonwebtoken::encode(&self.header, &claims, &self.signing)
            .map_err(|error| ApiError::internal("signing a token", &error))?;
        Ok(IssuedToken {
            access_token,
            token_type: "Bearer",
            expires_in: lifetime.as_secs(),
            scope: claims.scope,
        })
    }

    /// The claims of a token, if one of the keys signed it and it has not expired. One that lives for longer, or begins
    /// later, than any token of the gateway was signed by somebody else who has the key.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, ApiError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| invalid())?;
        let key = header.kid.and_then(|kid| self.known.get(&kid)).ok_or_else(invalid)?;
        let claims =
            jsonwebtoken::decode::<Claims>(token, key, &self.validation).map_err(|_| invalid())?.claims;
        if claims.exp <= now.seconds() {
            return Err(ApiError::refused(ErrorCode::TokenExpired, "the access token has expired"));
        }
        let lifetime = claims.exp.saturating_sub(claims.iat);
        if lifetime > LONGEST.as_secs().cast_signed() || claims.iat > now.plus(MAX_CLOCK_SKEW).seconds() {
            return Err(invalid());
        }
        Ok(claims)
    }
}

pub(crate) fn invalid() -> ApiError {
    ApiError::refused(ErrorCode::TokenInvalid, "the access token is not valid")
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{MerchantId, Secret};

    use super::*;

    struct Zeros;

    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn a_token_that_the_gateway_would_not_have_made_is_refused_whoever_signed_it() {
        let master = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let keyring = Keyring::from_base64(&master).expect("a master key");
        let tokens = Tokens::new(&keyring, "https://pay.example");
        let now = Timestamp::from_millis(1_763_683_200_000);
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let bearer = Bearer { tenant, key_kind: KeyKind::ApiKey, key_id: "key_1" };
        let issued = |at: Timestamp, lifetime| {
            let token = tokens.issue(&bearer, &Scopes::all(), lifetime, at, &Zeros);
            tokens.verify(&token.expect("signed").access_token, now)
        };
        issued(now, LONGEST).expect("the longest that there is");
        issued(now.plus(MAX_CLOCK_SKEW), LONGEST).expect("of a node whose clock is ahead");
        let second = Duration::from_secs(1);
        assert_eq!(issued(now, LONGEST + second).expect_err("too long").code(), ErrorCode::TokenInvalid);
        let later = now.plus(MAX_CLOCK_SKEW + second);
        assert_eq!(issued(later, LONGEST).expect_err("not yet").code(), ErrorCode::TokenInvalid);
    }
}
