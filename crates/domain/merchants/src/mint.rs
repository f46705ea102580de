//! Making keys and secrets, as a port: this crate decides who gets one, and an adapter makes it.

use quipu_kernel::{Environment, MerchantId, Secret};

/// A new key or token, and the form in which it is stored.
#[derive(Debug, Clone)]
pub struct MintedKey {
    /// The text, for the one answer that shows it.
    pub text: Secret,
    /// The keyed hash by which it is found.
    pub hash: String,
    /// Its last four characters.
    pub last_four: String,
}

/// A new secret that must be recovered to be used, and the form in which it is stored.
#[derive(Debug, Clone)]
pub struct MintedSecret {
    /// The text, for the one answer that shows it.
    pub text: Secret,
    /// The sealed text, bound to the row that it belongs to.
    pub sealed: String,
}

/// Makes keys and secrets.
pub trait Minter: Send + Sync {
    /// An API key for one environment.
    fn api_key(&self, environment: Environment) -> MintedKey;

    /// The secret of the v2 credential of this identifier, sealed under
    /// [`HmacCredential::seal_context`](crate::credential::HmacCredential::seal_context).
    fn hmac_secret(&self, credential_id: &str) -> MintedSecret;

    /// A merchant's `default_webhook_secret`, sealed under
    /// [`Merchant::seal_context`](crate::merchant::Merchant::seal_context).
    fn webhook_secret(&self, merchant: MerchantId, environment: Environment) -> MintedSecret;

    /// A token for a member of staff.
    fn operator_token(&self) -> MintedKey;
}

/// A record with the secret text that is shown once.
#[derive(Debug, Clone)]
pub struct Issued<T> {
    /// The stored record.
    pub record: T,
    /// The secret text, to be shown once.
    pub secret: Secret,
}
