//! Bearer tokens: EdDSA JWTs (RFC 7519, RFC 8037) that stand for a key or credential for a while.

use std::{collections::HashMap, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use quipu_kernel::{Entropy, Environment, Timestamp, base62};
use quipu_merchants::Scopes;
use quipu_signing::Keyring;
use serde::{Deserialize, Serialize};

use super::{Authority, Caller};
use crate::{error::ApiError, state::AppState};

/// What kind of key a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyKind {
    ApiKey,
    HmacCredential,
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    env: Environment,
    scope: String,
    iat: i64,
    exp: i64,
    jti: String,
    key_kind: KeyKind,
    key_id: String,
}

/// A new token, as its endpoint answers it.
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

/// The keys that make and recognise tokens.
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
        // Nobody else has these keys, so the issuer adds nothing: a token stays good on every node, and when the gateway
        // gets another address.
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

    /// A token for what `caller` is, with these of its scopes.
    pub(crate) fn issue(
        &self,
        caller: &Caller,
        scopes: &Scopes,
        lifetime: Duration,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Result<IssuedToken, ApiError> {
        let (key_kind, key_id) = match &caller.authority {
            Authority::Key(envelope) => (KeyKind::ApiKey, &envelope.key.key_id),
            Authority::Credential(envelope) => (KeyKind::HmacCredential, &envelope.key.credential_id),
        };
        let claims = Claims {
            iss: self.issuer.clone(),
            sub: caller.tenant().merchant().to_string(),
            env: caller.tenant().environment(),
            scope: scopes.to_text(),
            iat: now.seconds(),
            exp: now.plus(lifetime).seconds(),
            jti: base62(entropy, 22),
            key_kind,
            key_id: key_id.clone(),
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

    fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, ApiError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| invalid())?;
        let key = header.kid.and_then(|kid| self.known.get(&kid)).ok_or_else(invalid)?;
        let claims =
            jsonwebtoken::decode::<Claims>(token, key, &self.validation).map_err(|_| invalid())?.claims;
        if claims.exp <= now.seconds() {
            return Err(ApiError::unauthorized("TOKEN_EXPIRED", "the access token has expired"));
        }
        Ok(claims)
    }
}

/// Looks the token's key up at every use, so that a token ends with its key.
pub(super) async fn authenticate(state: &AppState, token: &str, now: Timestamp) -> Result<Caller, ApiError> {
    let claims = state.tokens.verify(token, now)?;
    let directory = &state.services.directory;
    let has_expired = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    let authority = match claims.key_kind {
        KeyKind::ApiKey => {
            let found = directory.api_key_by_id(&claims.key_id).await?;
            let live = found.filter(|it| it.key.revoked_at.is_none() && !has_expired(it.key.expires_at));
            live.map(Authority::Key)
        }
        KeyKind::HmacCredential => {
            let found = directory.credential_by_id(&claims.key_id).await?;
            found.filter(|it| it.key.revoked_at.is_none()).map(Authority::Credential)
        }
    };
    let mut caller = Caller::new(authority.ok_or_else(invalid)?);
    let tenant = caller.tenant();
    if tenant.environment() != claims.env || tenant.merchant().to_string() != claims.sub {
        return Err(invalid());
    }
    caller.narrowed_to = Some(Scopes::parse(&claims.scope).map_err(|_| invalid())?);
    if claims.key_kind == KeyKind::ApiKey {
        state.services.key_uses.note(&claims.key_id, now);
    }
    Ok(caller)
}

pub(super) fn invalid() -> ApiError {
    ApiError::unauthorized("TOKEN_INVALID", "the access token is not valid")
}
