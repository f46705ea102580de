//! Sealing: the encryption of secrets in the database that must be recovered to be used.
//!
//! A sealed text is `v1.<key id>.<base64url of salt, nonce, ciphertext and tag>`: AES-256-GCM (NIST SP
//! 800-38D) with the context as associated data, so that a row's secret opens in no other row. Each text has
//! its own key, derived from the sealing key and a random salt: with one key for all, random nonces would
//! begin to repeat within days at full load, and a repeated nonce reveals both texts.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use quipu_kernel::{Entropy, Secret};
use ring::{aead, hkdf};

use crate::keyring::Keyring;

const VERSION: &str = "v1";
const SALT_BYTES: usize = 16;
const HEAD_BYTES: usize = SALT_BYTES + aead::NONCE_LEN;

/// Why a sealed text cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenProblem {
    /// It is not in the form of a sealed text.
    #[error("not a sealed text")]
    Malformed,
    /// It was sealed under a master key that the keyring does not hold.
    #[error("sealed under another master key; add that key to the retired ones")]
    UnknownKey,
    /// It was changed, or belongs to another context.
    #[error("the sealed text was changed, or moved from where it belongs")]
    Tampered,
}

impl Keyring {
    /// Seals `plaintext` with the current master key, bound to `context`: the kind and identifier of its row,
    /// for instance `hmac-credential/7`. The result is ASCII.
    ///
    /// # Panics
    /// If `plaintext` is longer than the 64 GiB that AES-GCM accepts.
    pub fn seal(&self, entropy: &dyn Entropy, context: &str, plaintext: &[u8]) -> String {
        let mut head = [0; HEAD_BYTES];
        entropy.fill(&mut head);
        let mut body = plaintext.to_vec();
        text_key(&self.current().sealing, &head)
            .seal_in_place_append_tag(nonce(&head), aead::Aad::from(context), &mut body)
            .expect("a plaintext is far below the 64 GiB limit of AES-GCM");
        let mut bytes = head.to_vec();
        bytes.append(&mut body);
        format!("{VERSION}.{}.{}", self.key_id(), URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Opens a text that [`Keyring::seal`] made for the same `context`, under the present master key or a retired one.
    pub fn open(&self, context: &str, sealed: &str) -> Result<Vec<u8>, OpenProblem> {
        let rest = sealed.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('.'));
        let (id, body) = rest.and_then(|rest| rest.split_once('.')).ok_or(OpenProblem::Malformed)?;
        let keys = self.find(id).ok_or(OpenProblem::UnknownKey)?;
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| OpenProblem::Malformed)?;
        let (head, body) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(OpenProblem::Malformed)?;
        let mut body = body.to_vec();
        let plaintext = text_key(&keys.sealing, head)
            .open_in_place(nonce(head), aead::Aad::from(context), &mut body)
            .map_err(|_| OpenProblem::Tampered)?;
        Ok(plaintext.to_vec())
    }

    /// [`Keyring::seal`] for a secret text.
    pub fn seal_secret(&self, entropy: &dyn Entropy, context: &str, secret: &Secret) -> String {
        self.seal(entropy, context, secret.expose().as_bytes())
    }

    /// [`Keyring::open`] for a secret text.
    pub fn open_secret(&self, context: &str, sealed: &str) -> Result<Secret, OpenProblem> {
        let text = String::from_utf8(self.open(context, sealed)?).map_err(|_| OpenProblem::Malformed)?;
        Ok(Secret::new(text))
    }
}

fn text_key(sealing: &hkdf::Prk, head: &[u8; HEAD_BYTES]) -> aead::LessSafeKey {
    let info = [&b"text"[..], &head[..SALT_BYTES]];
    let key = sealing.expand(&info, &aead::AES_256_GCM).expect("HKDF-SHA256 gives 32 bytes");
    aead::LessSafeKey::new(key.into())
}

fn nonce(head: &[u8; HEAD_BYTES]) -> aead::Nonce {
    let mut nonce = [0; aead::NONCE_LEN];
    nonce.copy_from_slice(&head[SALT_BYTES..]);
    aead::Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        entropy::SystemEntropy,
        keyring::{generate_master_key, tests::some_keyring},
    };

    proptest! {
        #[test]
        fn what_is_sealed_opens_in_its_context_only(plain: Vec<u8>, context in ".{0,20}", other in ".{0,20}") {
            let keyring = some_keyring();
            let sealed = keyring.seal(&SystemEntropy, &context, &plain);
            prop_assert_eq!(keyring.open(&context, &sealed), Ok(plain));
            if other != context {
                prop_assert_eq!(keyring.open(&other, &sealed), Err(OpenProblem::Tampered));
            }
        }

        #[test]
        fn no_changed_text_opens(plain: Vec<u8>, at: prop::sample::Index, to in "[ -~]") {
            let keyring = some_keyring();
            let sealed = keyring.seal(&SystemEntropy, "row/1", &plain);
            let at = at.index(sealed.len());
            let changed = format!("{}{to}{}", &sealed[..at], &sealed[at + 1..]);
            if changed != sealed {
                prop_assert!(keyring.open("row/1", &changed).is_err());
            }
        }

        #[test]
        fn any_text_at_all_is_refused_without_a_panic(text: String, context: String) {
            prop_assert!(some_keyring().open(&context, &text).is_err());
        }
    }

    #[test]
    fn the_same_secret_is_sealed_differently_each_time() {
        let keyring = some_keyring();
        let seal = || keyring.seal(&SystemEntropy, "row/1", b"secret");
        assert_ne!(seal(), seal());
    }

    #[test]
    fn a_cut_text_is_malformed_or_refused() {
        let keyring = some_keyring();
        let sealed = keyring.seal(&SystemEntropy, "row/1", b"secret");
        for length in 0..sealed.len() {
            assert!(keyring.open("row/1", &sealed[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_replaced_master_key_still_opens_what_it_sealed() {
        let (old, new) = (generate_master_key(&SystemEntropy), generate_master_key(&SystemEntropy));
        let before = Keyring::from_base64(&old).expect("a key");
        let sealed = before.seal_secret(&SystemEntropy, "row/1", &Secret::new("secret"));

        let without = Keyring::from_base64(&new).expect("a key");
        assert_eq!(without.open("row/1", &sealed), Err(OpenProblem::UnknownKey));
        let with = without.with_retired(&old).expect("keys");
        assert_eq!(with.open_secret("row/1", &sealed), Ok(Secret::new("secret")));
    }
}
