//! The rail of external providers: any system that speaks the protocol of `docs/RAIL-PROTOCOL.md`.

mod breaker;
mod callback;
mod client;
mod wire;

use std::sync::Arc;

use hyper::Method;
use quipu_kernel::{Clock, Unrecognised};
use quipu_payments::{CallbackHeaders, Instructed, NotVerified, Payment, Standing, Submitted};
use quipu_signing::WebhookSecret;

use self::{
    client::{NoReply, ProviderClient, Question},
    wire::Order,
};

/// What a route writes before the provider's name.
const PREFIX: &str = "http:";

/// A provider reached by signed JSON. It issues instructions remotely, after the payment's own commit.
pub struct HttpRail {
    /// As routes name it: `http:<name>`.
    name: String,
    secret: WebhookSecret,
    client: ProviderClient,
    clock: Arc<dyn Clock>,
}

impl HttpRail {
    /// The provider `name` at `url`, with the secret that signs both ways (`whsec_` and base64 of 24 to 64 bytes).
    pub fn new(name: &str, url: &str, secret: &str, clock: Arc<dyn Clock>) -> Result<Self, Unrecognised> {
        let secret = WebhookSecret::parse(secret)?;
        let client = ProviderClient::new(url, secret.clone(), Arc::clone(&clock));
        Ok(Self { name: format!("{PREFIX}{name}"), secret, client, clock })
    }

    /// The name that routes use.
    pub fn route_name(&self) -> &str {
        &self.name
    }

    /// Whether the provider would be called now: its circuit is closed and there is room for one more call.
    pub fn is_available(&self) -> bool {
        self.client.is_available()
    }

    /// Asks for a deposit's instructions. Repeating it is safe: the rail reference is the payment's identifier.
    pub async fn request_instructions(&self, payment: &Payment) -> Instructed {
        let Some(question) = order("/instructions", payment) else { return Instructed::Unknown };
        self.client.ask(&question, wire::instructed).await.unwrap_or(Instructed::Unknown)
    }

    /// Hands a withdrawal over, always under the payment's identifier.
    pub async fn hand_over(&self, payment: &Payment) -> Submitted {
        let Some(question) = order("/payouts", payment) else { return Submitted::Unknown };
        self.client.ask(&question, wire::submitted).await.unwrap_or(Submitted::Unknown)
    }

    /// Asks how a payment stands.
    pub async fn question(&self, payment: &Payment) -> Standing {
        let reference = payment.id().as_str();
        let question = Question {
            method: Method::GET,
            path: format!("/payments/{reference}"),
            id: format!("status_{reference}_{}", self.clock.now().millis()),
            body: Vec::new(),
        };
        match self.client.ask(&question, wire::standing).await {
            Ok(standing) => standing,
            Err(NoReply::NotSent | NoReply::Silence) => Standing::Silent,
        }
    }

    /// Whether a callback comes from this provider.
    pub fn verify_callback(&self, headers: CallbackHeaders<'_>, body: &[u8]) -> Result<(), NotVerified> {
        callback::verify(&self.secret, headers, body, self.clock.now())
    }
}

fn order(path: &str, payment: &Payment) -> Option<Question> {
    let reference = payment.id().as_str();
    Some(Question {
        method: Method::POST,
        path: path.to_owned(),
        id: format!("{}_{reference}", path.trim_start_matches('/')),
        body: serde_json::to_vec(&Order::of(payment)).ok()?,
    })
}
