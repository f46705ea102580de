//! All keys of an installation, derived from its master key.

use base64::{Engine, engine::general_purpose::STANDARD};
use quipu_kernel::{Entropy, Secret};
use ring::{hkdf, hmac};

use crate::token_key::TokenKey;

/// The length of a master key.
const MASTER_KEY_BYTES: usize = 32;

/// The purpose of each derived key. A label never changes, since data made under it would be lost.
mod label {
    pub(super) const KEY_ID: &[u8] = b"quipu/v1/key-id";
    pub(super) const HASHING: &[u8] = b"quipu/v1/credential-hashing";
    pub(super) const SEALING: &[u8] = b"quipu/v1/sealing";
    pub(super) const TOKENS: &[u8] = b"quipu/v1/bearer-token-ed25519";
    pub(super) const URLS: &[u8] = b"quipu/v1/signed-urls";
}

/// Why a text is not a master key. No message shows any part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MasterKeyProblem {
    /// It has characters that are not base64 (RFC 4648, with padding).
    #[error("the master key must be base64; `openssl rand -base64 32` makes one")]
    NotBase64,
    /// It decodes to another number of bytes.
    #[error("the master key must be 32 bytes, not {0}; `openssl rand -base64 32` makes one")]
    WrongLength(usize),
    /// A key that others may have is the one with which everything new is made.
    #[error("a compromised key must not be master_key; generate a new one")]
    Current,
}

/// The keys derived from one master key.
pub(crate) struct Derived {
    /// 16 hexadecimal characters that identify this master key and reveal nothing about it.
    pub(crate) id: String,
    pub(crate) sealing: hkdf::Prk,
    hashing: hmac::Key,
    token: TokenKey,
    pub(crate) urls: hmac::Key,
}

/// The keys of an installation: those of the current master key, with which everything new is made, and those
/// of retired master keys, which still open and verify older data. Those that others may have sign nothing any more: whoever
/// has one could make new signatures with it.
pub struct Keyring {
    current: Derived,
    retired: Vec<Derived>,
    leaked: Vec<Derived>,
}

impl Keyring {
    /// The keys of a master key written in base64.
    pub fn from_base64(master: &Secret) -> Result<Self, MasterKeyProblem> {
        Ok(Self { current: Derived::from_base64(master)?, retired: Vec::new(), leaked: Vec::new() })
    }

    /// Adds a retired master key, so that data made with it stays usable.
    pub fn with_retired(mut self, master: &Secret) -> Result<Self, MasterKeyProblem> {
        let retired = Derived::from_base64(master)?;
        if self.leaked.iter().all(|leaked| leaked.id != retired.id) {
            self.retired.push(retired);
        }
        Ok(self)
    }

    /// Adds a retired master key that others may have. What was sealed or hashed with it stays usable; signatures made with
    /// it are refused, even if it was added as a retired one too.
    pub fn with_leaked(mut self, master: &Secret) -> Result<Self, MasterKeyProblem> {
        let leaked = Derived::from_base64(master)?;
        if leaked.id == self.current.id {
            return Err(MasterKeyProblem::Current);
        }
        self.retired.retain(|retired| retired.id != leaked.id);
        self.leaked.push(leaked);
        Ok(self)
    }

    /// The identifier of the current master key, as sealed texts name it. It is no secret.
    pub fn key_id(&self) -> &str {
        &self.current.id
    }

    /// Whether it holds the master key with this identifier, so that what was sealed under it can be opened.
    pub fn holds(&self, key_id: &str) -> bool {
        self.find(key_id).is_some()
    }

    /// The keyed hash (HMAC-SHA256, RFC 2104, in hexadecimal) under which a credential is stored.
    pub fn hash(&self, credential: &Secret) -> String {
        self.current.hash(credential)
    }

    /// All hashes under which a credential may be stored: that of the current master key first, then those of
    /// retired ones.
    pub fn hashes(&self, credential: &Secret) -> Vec<String> {
        self.all().map(|keys| keys.hash(credential)).collect()
    }

    /// The key that signs bearer tokens.
    pub fn token_key(&self) -> &TokenKey {
        &self.current.token
    }

    /// The keys whose signature on a bearer token is accepted, the signing one first.
    pub fn token_keys(&self) -> impl Iterator<Item = &TokenKey> {
        self.verifying().map(|keys| &keys.token)
    }

    pub(crate) fn current(&self) -> &Derived {
        &self.current
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Derived> {
        self.all().find(|keys| keys.id == id)
    }

    /// The keys whose signatures are accepted.
    pub(crate) fn verifying(&self) -> impl Iterator<Item = &Derived> {
        std::iter::once(&self.current).chain(&self.retired)
    }

    fn all(&self) -> impl Iterator<Item = &Derived> {
        self.verifying().chain(&self.leaked)
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keyring({}, {} retired)", self.current.id, self.retired.len() + self.leaked.len())
    }
}

impl Derived {
    fn from_base64(master: &Secret) -> Result<Self, MasterKeyProblem> {
        let bytes = STANDARD.decode(master.expose().trim()).map_err(|_| MasterKeyProblem::NotBase64)?;
        match <[u8; MASTER_KEY_BYTES]>::try_from(bytes.as_slice()) {
            Ok(master) => Ok(Self::from_bytes(&master)),
            Err(_) => Err(MasterKeyProblem::WrongLength(bytes.len())),
        }
    }

    fn from_bytes(master: &[u8; MASTER_KEY_BYTES]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(master);
        Self {
            id: hex::encode(&expand(&root, label::KEY_ID)[..8]),
            sealing: hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &expand(&root, label::SEALING)),
            hashing: hmac::Key::new(hmac::HMAC_SHA256, &expand(&root, label::HASHING)),
            token: TokenKey::from_seed(&expand(&root, label::TOKENS)),
            urls: hmac::Key::new(hmac::HMAC_SHA256, &expand(&root, label::URLS)),
        }
    }

    fn hash(&self, credential: &Secret) -> String {
        hex::encode(hmac::sign(&self.hashing, credential.expose().as_bytes()))
    }
}

fn expand(root: &hkdf::Prk, label: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    root.expand(&[label], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut key))
        .expect("HKDF-SHA256 gives 32 bytes");
    key
}

/// A new master key, in base64.
pub fn generate_master_key(entropy: &dyn Entropy) -> Secret {
    let mut bytes = [0; MASTER_KEY_BYTES];
    entropy.fill(&mut bytes);
    Secret::new(STANDARD.encode(bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    pub(crate) fn some_keyring() -> Keyring {
        Keyring::from_base64(&generate_master_key(&SystemEntropy)).expect("a master key")
    }

    #[test]
    fn derivation_never_changes() {
        let master = Secret::new(STANDARD.encode([7; 32]));
        let keyring = Keyring::from_base64(&master).expect("a master key");
        // Computed once with Python's hmac: HKDF-SHA256 without salt, then HMAC-SHA256 of the text.
        assert_eq!(keyring.key_id(), "ae27d8f01f831f7f");
        assert_eq!(
            keyring.hash(&Secret::new("qp_test_sk_x")),
            "274ce42aaa9b17e3f2e5c12d8e04f808ff3910614888f779a27438e41ec9d842"
        );
    }

    #[test]
    fn what_is_no_master_key_is_refused_without_being_shown() {
        let problem = |text: &str| Keyring::from_base64(&Secret::new(text)).map(|_| ()).expect_err("no key");
        assert_eq!(problem(""), MasterKeyProblem::WrongLength(0));
        assert_eq!(problem("c2VjcmV0"), MasterKeyProblem::WrongLength(6));
        assert_eq!(problem("not base64!"), MasterKeyProblem::NotBase64);
        assert!(!problem("c2VjcmV0").to_string().contains("c2VjcmV0"));
    }

    #[test]
    fn a_credential_is_recognised_after_the_master_key_was_replaced() {
        let (old, new) = (generate_master_key(&SystemEntropy), generate_master_key(&SystemEntropy));
        let credential = Secret::new("qp_op_x");
        let stored = Keyring::from_base64(&old).expect("a key").hash(&credential);
        for add in [Keyring::with_retired, Keyring::with_leaked] {
            let rotated = Keyring::from_base64(&new).and_then(|ring| add(ring, &old)).expect("keys");
            assert_eq!(rotated.hashes(&credential), [rotated.hash(&credential), stored.clone()]);
        }
    }

    #[test]
    fn a_key_that_others_may_have_signs_no_tokens() {
        let (old, new) = (generate_master_key(&SystemEntropy), generate_master_key(&SystemEntropy));
        let signing = |add: fn(Keyring, &Secret) -> Result<Keyring, MasterKeyProblem>| {
            Keyring::from_base64(&new).and_then(|ring| add(ring, &old)).expect("keys").token_keys().count()
        };
        assert_eq!((signing(Keyring::with_retired), signing(Keyring::with_leaked)), (2, 1));
        assert_eq!(signing(|ring, old| ring.with_retired(old)?.with_leaked(old)), 1);
        assert_eq!(signing(|ring, old| ring.with_leaked(old)?.with_retired(old)), 1);
        let current = Keyring::from_base64(&new).and_then(|ring| ring.with_leaked(&new));
        assert_eq!(current.map(|_| ()), Err(MasterKeyProblem::Current));
    }

    #[test]
    fn debug_output_shows_no_key() {
        let keyring = some_keyring();
        assert_eq!(format!("{keyring:?}"), format!("Keyring({}, 0 retired)", keyring.key_id()));
    }
}
