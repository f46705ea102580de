//! The use case that makes endpoints.

use std::sync::Arc;

use quipu_kernel::{Clock, Entropy, Secret, Tenant};
use quipu_merchants::{Actor, AuditRecord};
use quipu_signing::{Keyring, WebhookSecret};
use serde_json::{Value, json};

use crate::{
    draft::EndpointDraft,
    endpoint::{Enablement, Endpoint, EndpointId, EndpointView, Source},
    error::EndpointError,
    ports::Endpoints,
};

/// Makes endpoints for merchants and for the operator.
pub struct CreateEndpoint {
    endpoints: Arc<dyn Endpoints>,
    keyring: Arc<Keyring>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

/// A new endpoint, with the secret that is shown once.
#[derive(Debug, Clone)]
pub struct Created {
    /// The endpoint as it is stored.
    pub endpoint: Endpoint,
    /// The secret, to be shown once.
    pub secret: Secret,
}

impl CreateEndpoint {
    /// The use case over these ports.
    pub fn new(
        endpoints: Arc<dyn Endpoints>,
        keyring: Arc<Keyring>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { endpoints, keyring, clock, entropy }
    }

    /// Makes an endpoint, with the secret of the draft or a new one. `actor` is the member of staff who makes
    /// it; `None` if the merchant does.
    pub async fn run(
        &self,
        tenant: Tenant,
        draft: EndpointDraft,
        actor: Option<Actor>,
    ) -> Result<Created, EndpointError> {
        let (at, entropy) = (self.clock.now(), self.entropy.as_ref());
        let id = EndpointId::new(at, entropy);
        let secret = draft.secret.unwrap_or_else(|| WebhookSecret::generate(entropy)).secret().clone();
        let sealed = self.keyring.seal_secret(entropy, &Endpoint::seal_context(&id), &secret);
        let endpoint = Endpoint {
            id,
            tenant,
            source: Source::Admin,
            url: draft.url,
            events: draft.events,
            description: draft.description,
            sealed_secret: Some(sealed),
            enablement: Enablement::Enabled,
            failing_since: None,
            created_at: at,
            updated_at: at,
        };
        let audit = actor.map(|actor| self.audit(&endpoint, actor));
        self.endpoints.add(endpoint.clone(), audit).await?;
        Ok(Created { endpoint, secret })
    }

    fn audit(&self, endpoint: &Endpoint, actor: Actor) -> AuditRecord {
        let merchant = endpoint.tenant.merchant();
        let action = "webhook.create";
        let line =
            AuditRecord::new(self.entropy.as_ref(), endpoint.created_at, actor, action, Some(merchant));
        let shown = json!(EndpointView::of(endpoint));
        line.about(format!("webhook/{}", endpoint.id)).changing(Value::Null, shown)
    }
}
