//! The secrets with which a delivery is signed.

use std::sync::Arc;

use quipu_kernel::{Clock, MerchantId, StoreError};
use quipu_merchants::{CallerBook, Merchant};
use quipu_signing::{Keyring, WebhookSecret};

use crate::endpoint::Endpoint;

/// Finds and opens the secrets of endpoints.
pub struct Signer {
    keyring: Arc<Keyring>,
    merchants: Arc<dyn CallerBook>,
    clock: Arc<dyn Clock>,
}

/// Why there is no secret. The texts are for the log.
#[derive(Debug, thiserror::Error)]
pub enum NoSecret {
    /// It could not be found or opened.
    #[error("{0}")]
    Unusable(String),
    /// It could not be read at the moment.
    #[error(transparent)]
    Unavailable(StoreError),
}

impl From<StoreError> for NoSecret {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Failed(reason) => Self::Unusable(reason),
            other => Self::Unavailable(other),
        }
    }
}

impl Signer {
    /// A signer over these ports.
    pub fn new(keyring: Arc<Keyring>, merchants: Arc<dyn CallerBook>, clock: Arc<dyn Clock>) -> Self {
        Self { keyring, merchants, clock }
    }

    /// The secrets that sign for an endpoint, the newest first: its own, or the merchant's default, together
    /// with the former default for a day after a rotation.
    pub async fn secrets(&self, endpoint: &Endpoint) -> Result<Vec<WebhookSecret>, NoSecret> {
        if let Some(sealed) = &endpoint.sealed_secret {
            return Ok(vec![self.open(&Endpoint::seal_context(&endpoint.id), sealed)?]);
        }
        let (id, environment) = (endpoint.tenant.merchant(), endpoint.tenant.environment());
        let merchant = self.merchant(id).await?;
        let context = Merchant::seal_context(id, environment);
        let mut secrets = vec![self.open(&context, merchant.sealed_webhook_secret(environment))?];
        if let Some(former) = merchant.former_webhook_secret(environment, self.clock.now()) {
            secrets.push(self.open(&context, former)?);
        }
        Ok(secrets)
    }

    fn open(&self, context: &str, sealed: &str) -> Result<WebhookSecret, NoSecret> {
        let text = self.keyring.open_secret(context, sealed).map_err(|error| unusable(&error))?;
        WebhookSecret::parse(text.expose()).map_err(|_| unusable("a sealed secret has another form"))
    }

    async fn merchant(&self, id: MerchantId) -> Result<Arc<Merchant>, NoSecret> {
        let found = self.merchants.remembered_merchant(id).await?;
        found.ok_or_else(|| unusable("there is no such merchant"))
    }
}

fn unusable(reason: &(impl ToString + ?Sized)) -> NoSecret {
    NoSecret::Unusable(reason.to_string())
}
