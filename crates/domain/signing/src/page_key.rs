//! Tokens of hosted pages (docs/API.md, "Hosted pages").

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use quipu_kernel::{Entropy, Environment, Secret, Unrecognised};
use ring::hmac;

/// 160 bits, 27 characters.
const TOKEN_BYTES: usize = 20;

/// The installation's page key: random, and stored sealed, so that page addresses survive a new master key.
///
/// A page's token is computed from it whenever the token is shown; only the token's hash is stored.
pub struct PageKey {
    text: Secret,
    key: hmac::Key,
}

impl PageKey {
    /// A new page key.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        Self::from_bytes(bytes)
    }

    /// Reads the page key from an unsealed text.
    pub fn parse(text: &Secret) -> Result<Self, Unrecognised> {
        let bytes = URL_SAFE_NO_PAD.decode(text.expose()).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self::from_bytes).ok_or(Unrecognised { expected: "a page key" })
    }

    /// The key as text, to be sealed.
    pub fn secret(&self) -> &Secret {
        &self.text
    }

    /// The token of a payment's page: 27 characters fit for a path.
    pub fn token(&self, environment: Environment, payment_id: &str) -> Secret {
        let message = format!("{environment}/{payment_id}");
        let tag = hmac::sign(&self.key, message.as_bytes());
        Secret::new(URL_SAFE_NO_PAD.encode(&tag.as_ref()[..TOKEN_BYTES]))
    }

    fn from_bytes(bytes: [u8; 32]) -> Self {
        let text = Secret::new(URL_SAFE_NO_PAD.encode(bytes));
        Self { text, key: hmac::Key::new(hmac::HMAC_SHA256, &bytes) }
    }
}

impl std::fmt::Debug for PageKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PageKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_restored_key_makes_the_same_tokens_and_another_makes_others() {
        let key = PageKey::generate(&SystemEntropy);
        let restored = PageKey::parse(key.secret()).expect("a page key");
        let token = key.token(Environment::Test, "pay_1");
        assert_eq!(token, restored.token(Environment::Test, "pay_1"));
        assert_eq!(token.expose().len(), 27);
        let others = [
            key.token(Environment::Live, "pay_1"),
            key.token(Environment::Test, "pay_2"),
            PageKey::generate(&SystemEntropy).token(Environment::Test, "pay_1"),
        ];
        assert!(!others.contains(&token));
        assert!(PageKey::parse(&Secret::new("short")).is_err());
    }
}
