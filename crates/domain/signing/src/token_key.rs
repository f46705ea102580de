//! The Ed25519 key of bearer tokens (docs/API.md, "Bearer tokens"; RFC 8032, RFC 8037).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::digest::sha256;

/// The fixed head of an Ed25519 private key of 32 bytes in PKCS#8 (RFC 8410).
const PKCS8_HEAD: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// An Ed25519 key pair in the forms that token libraries and a JWK set need.
///
/// It is derived from the master key, so that every node has the same one and none is stored.
pub struct TokenKey {
    pkcs8: Vec<u8>,
    public: Vec<u8>,
    id: String,
}

impl TokenKey {
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are an Ed25519 seed");
        let public = pair.public_key().as_ref().to_vec();
        // RFC 7638: the required members for this type of key, in alphabetical order, without white space.
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, URL_SAFE_NO_PAD.encode(&public));
        let id = URL_SAFE_NO_PAD.encode(sha256(members.as_bytes()));
        Self { pkcs8: [&PKCS8_HEAD[..], seed].concat(), public, id }
    }

    /// The private key as PKCS#8 DER, for the one place that signs tokens.
    pub fn private_pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The public key, 32 bytes.
    pub fn public_bytes(&self) -> &[u8] {
        &self.public
    }

    /// The member `x` of the public JWK: the public key in base64url.
    pub fn jwk_x(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.public)
    }

    /// The key's identifier, `kid`: its JWK thumbprint (RFC 7638).
    pub fn key_id(&self) -> &str {
        &self.id
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenKey({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_library_signs_and_verifies_with_it() {
        let key = TokenKey::from_seed(&[9; 32]);
        let claims = json!({"sub": "1", "exp": 4_000_000_000_u32});
        let signer = EncodingKey::from_ed_der(key.private_pkcs8());
        let token = jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &signer).expect("signs");
        let verify = |verifier: &DecodingKey| {
            jsonwebtoken::decode::<serde_json::Value>(&token, verifier, &Validation::new(Algorithm::EdDSA))
        };
        let by_jwk = DecodingKey::from_ed_components(&key.jwk_x()).expect("a JWK");
        assert_eq!(verify(&by_jwk).expect("verifies").claims, claims);
        assert!(verify(&DecodingKey::from_ed_der(key.public_bytes())).is_ok());
        let other = TokenKey::from_seed(&[10; 32]);
        assert!(verify(&DecodingKey::from_ed_der(other.public_bytes())).is_err());
    }

    #[test]
    fn the_key_id_is_the_thumbprint_of_rfc_8037() {
        // RFC 8037, appendix A.1 and A.3.
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").expect("base64");
        let key = TokenKey::from_seed(seed.as_slice().try_into().expect("32 bytes"));
        assert_eq!(key.jwk_x(), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(key.key_id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }
}
