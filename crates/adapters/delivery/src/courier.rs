//! The courier: finds the secrets, sends the delivery, and measures how long it took.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use quipu_kernel::{Clock, EventId};
use quipu_webhooks::{Attempted, Courier, Endpoint, NoSecret, SendProblem, Signer};
use tokio::time::{Instant, timeout};

use crate::sender::{Parcel, Sender, SenderSettings};

/// How long the secrets of an endpoint may take, which may have to be read. An attempt that is made without them sends nothing.
const FOR_SECRETS: Duration = Duration::from_secs(1);

/// Makes attempts over HTTP.
pub struct HttpCourier {
    sender: Sender,
    signer: Signer,
    clock: Arc<dyn Clock>,
}

/// The TLS library of this build cannot be used. The text is for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct NoTls(String);

impl HttpCourier {
    /// A courier whose deliveries `signer` signs.
    pub fn new(settings: SenderSettings, signer: Signer, clock: Arc<dyn Clock>) -> Result<Self, NoTls> {
        let sender = Sender::new(settings).map_err(|error| NoTls(error.to_string()))?;
        Ok(Self { sender, signer, clock })
    }
}

#[async_trait]
impl Courier for HttpCourier {
    async fn attempt(&self, endpoint: &Endpoint, event: &EventId, payload: &Arc<str>) -> Attempted {
        let secrets = timeout(FOR_SECRETS, self.signer.secrets(endpoint)).await;
        // What the database took is no slowness of the receiver.
        let (started_at, begun) = (self.clock.now(), Instant::now());
        let result = match secrets {
            Ok(Ok(secrets)) => {
                let parcel = Parcel {
                    target: &endpoint.url,
                    environment: endpoint.tenant.environment(),
                    event,
                    payload,
                    secrets: &secrets,
                    at: started_at,
                };
                self.sender.send(parcel).await
            }
            Err(_) => {
                tracing::debug!(endpoint = %endpoint.id, "a delivery waits for its secret");
                Err((SendProblem::NothingSent, None))
            }
            Ok(Err(NoSecret::Unavailable(error))) => {
                tracing::debug!(endpoint = %endpoint.id, %error, "a delivery waits for its secret");
                Err((SendProblem::NothingSent, None))
            }
            Ok(Err(error)) => {
                tracing::error!(endpoint = %endpoint.id, %error, "a delivery could not be signed");
                Err((SendProblem::Unprepared, None))
            }
        };
        Attempted { started_at, duration: begun.elapsed(), result }
    }
}
