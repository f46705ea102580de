//! A payment provider for tests that speaks the rail protocol and can misbehave in every way that a real one
//! does.
//!
//! It listens on a free port, records the calls it receives, and counts how many times each reference was
//! paid: no gateway may ever cause a reference to be paid twice, or two references for one payment.

mod book;
mod serve;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quipu_kernel::{Clock, SystemClock, Timestamp};
use quipu_signing::{SystemEntropy, WebhookSecret};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use self::book::Book;
pub use self::book::{Behaviour, Endpoint, Order};
use crate::{Answer, Client, Setup, scratch::unique_name};

/// A running provider. Dropping it stops it: calls to it are then refused.
#[derive(Debug)]
pub struct Provider {
    name: String,
    url: String,
    secret: WebhookSecret,
    book: Arc<Mutex<Book>>,
    serving: JoinHandle<()>,
}

impl Provider {
    /// Starts a provider that behaves.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let secret = WebhookSecret::generate(&SystemEntropy);
        let book = Arc::new(Mutex::new(Book::default()));
        let serving = tokio::spawn(serve::serve(listener, Arc::clone(&book), secret.clone()));
        let name = unique_name("bank").replace('-', "").to_lowercase();
        Self { name, url: format!("http://{address}"), secret, book, serving }
    }

    /// The `<name>` of `rails.http.<name>` and of the callbacks' path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The `rail` of a route to this provider.
    pub fn rail(&self) -> String {
        format!("http:{}", self.name)
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The secret that signs in both directions.
    pub fn secret(&self) -> &str {
        self.secret.secret().expose()
    }

    /// Adds this provider as a rail to a gateway's settings.
    pub fn configure(&self, setup: Setup) -> Setup {
        let key = |member: &str| format!("RAILS__HTTP__{}__{member}", self.name.to_uppercase());
        setup.set(&key("URL"), &self.url).set(&key("SECRET"), self.secret())
    }

    /// Sets the behaviour of the next calls of an endpoint, one after the other; then it behaves again.
    pub fn next(&self, endpoint: Endpoint, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.book().expect(endpoint, behaviours);
    }

    /// Behaves on this endpoint from now on, whatever was planned.
    pub fn forget_plans(&self, endpoint: Endpoint) {
        self.book().forget(endpoint);
    }

    /// Sets the behaviour of all calls of an endpoint from now on.
    pub fn always(&self, endpoint: Endpoint, behaviour: Behaviour) {
        self.book().set_usual(endpoint, behaviour);
    }

    /// Answers the calls that wait for it, now and later.
    pub fn answer_late(&self) {
        self.book().is_answering.send_replace(true);
    }

    /// The order with a reference, if it was accepted.
    pub fn order(&self, reference: &str) -> Option<Order> {
        self.book().orders.get(reference).cloned()
    }

    /// All accepted orders.
    pub fn orders(&self) -> Vec<Order> {
        self.book().orders.values().cloned().collect()
    }

    /// The number of calls to an endpoint, accepted or not.
    pub fn calls(&self, endpoint: Endpoint) -> usize {
        self.book().calls.iter().filter(|call| **call == endpoint).count()
    }

    /// Calls whose signature did not verify.
    pub fn unsigned_calls(&self) -> usize {
        self.book().unsigned
    }

    /// Sets the answer to status questions about a reference: `completed`, `failed`, `pending`, `unknown`.
    pub fn settle(&self, reference: &str, status: &str) {
        let mut book = self.book();
        let order = book.orders.get_mut(reference).expect("a reference that was taken on");
        status.clone_into(&mut order.status);
    }

    /// A callback about an accepted payment, with its own amount and currency.
    pub fn event(&self, kind: &str, reference: &str) -> Value {
        let order = self.order(reference);
        let of = |member: &str| order.as_ref().map_or(Value::Null, |order| order.body[member].clone());
        json!({
            "id": unique_name("evt"), "type": kind, "rail_reference": reference,
            "amount": of("amount"), "currency": of("currency"), "occurred_at": SystemClock.now(),
        })
    }

    /// Sends a callback with a valid signature.
    pub async fn call_back(&self, gateway: &Client, event: &Value) -> Answer {
        self.call_back_at(gateway, event, SystemClock.now()).await
    }

    /// Sends a callback whose signature has another time.
    pub async fn call_back_at(&self, gateway: &Client, event: &Value, at: Timestamp) -> Answer {
        let body = event.to_string();
        let signature = self.secret.sign("msg_1", at, body.as_bytes());
        self.call_back_with(gateway, &body, at, &signature).await
    }

    /// Sends a callback with a valid signature; no answer if the gateway died over it.
    pub async fn try_call_back(&self, gateway: &Client, event: &Value) -> Option<Answer> {
        let (body, now) = (event.to_string(), SystemClock.now());
        let signature = self.secret.sign("msg_1", now, body.as_bytes());
        self.send(gateway, &body, now, &signature).await.ok()
    }

    /// Sends a callback with any signature.
    pub async fn call_back_with(
        &self,
        gateway: &Client,
        body: &str,
        at: Timestamp,
        signature: &str,
    ) -> Answer {
        let sent = self.send(gateway, body, at, signature).await;
        sent.unwrap_or_else(|error| panic!("no answer to a callback: {error:?}"))
    }

    async fn send(
        &self,
        gateway: &Client,
        body: &str,
        at: Timestamp,
        signature: &str,
    ) -> Result<Answer, reqwest::Error> {
        let path = format!("/api/v1/providers/{}/callbacks", self.name);
        let seconds = at.seconds().to_string();
        let headers = [
            ("webhook-id", "msg_1"),
            ("webhook-timestamp", seconds.as_str()),
            ("webhook-signature", signature),
        ];
        gateway.try_send(reqwest::Method::POST, &path, Some(body.as_bytes().to_vec()), &headers).await
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
