//! New keys and secrets: random from the system, hashed or sealed by the keyring.

use std::sync::Arc;

use quipu_kernel::{Entropy, Environment, MerchantId, Secret};
use quipu_merchants::{HmacCredential, Merchant, MintedKey, MintedSecret, Minter};
use quipu_signing::{ApiKey, Keyring, OperatorToken, WebhookSecret, generate_hmac_secret};

/// Makes keys and secrets for [`Onboarding`](quipu_merchants::Onboarding): hashed or sealed by the keyring.
#[derive(Clone)]
pub struct KeyringMinter {
    keyring: Arc<Keyring>,
    entropy: Arc<dyn Entropy>,
}

impl KeyringMinter {
    /// A minter over an installation's keyring.
    pub fn new(keyring: Arc<Keyring>, entropy: Arc<dyn Entropy>) -> Self {
        Self { keyring, entropy }
    }

    fn sealed(&self, context: &str, text: &Secret) -> MintedSecret {
        let sealed = self.keyring.seal_secret(self.entropy.as_ref(), context, text);
        MintedSecret { text: text.clone(), sealed }
    }
}

impl Minter for KeyringMinter {
    fn api_key(&self, environment: Environment) -> MintedKey {
        let key = ApiKey::generate(environment, self.entropy.as_ref());
        MintedKey {
            text: Secret::new(key.expose()),
            hash: key.hash(&self.keyring),
            last_four: key.last_four().to_owned(),
        }
    }

    fn hmac_secret(&self, credential_id: &str) -> MintedSecret {
        let secret = generate_hmac_secret(self.entropy.as_ref());
        self.sealed(&HmacCredential::seal_context(credential_id), &secret)
    }

    fn webhook_secret(&self, merchant: MerchantId, environment: Environment) -> MintedSecret {
        let secret = WebhookSecret::generate(self.entropy.as_ref());
        self.sealed(&Merchant::seal_context(merchant, environment), secret.secret())
    }

    fn operator_token(&self) -> MintedKey {
        let token = OperatorToken::generate(self.entropy.as_ref());
        MintedKey {
            text: Secret::new(token.expose()),
            hash: token.hash(&self.keyring),
            last_four: token.last_four().to_owned(),
        }
    }
}
