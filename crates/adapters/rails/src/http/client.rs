//! Signed exchanges with one provider, bounded in time, size and number.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::{
    client::legacy::{Client, connect::dns::GaiResolver},
    rt::{TokioExecutor, TokioTimer},
};
use quipu_kernel::{Clock, Timestamp};
use quipu_merchants::Direction;
use quipu_payments::CIRCUIT_OPEN_FOR;
use quipu_signing::WebhookSecret;

use super::{
    breaker::{Breaker, Passage, Turned},
    connect::{Connector, connector},
    places::{CallPermit, Line, Places},
};
use crate::metric_names::RAILS_LEFT_ALONE;

/// How long a call may take: connecting, sending, the answer's body, and all repeats.
pub(super) const WHOLE: Duration = Duration::from_secs(10);
/// How long a payout or a question waits for a place. Without one it is put off.
const FOR_A_TURN: Duration = Duration::from_secs(2);
/// How long a payer's call waits for a place. Places are kept for payers, so it has to wait only among very
/// many.
pub(super) const FOR_A_PAYER: Duration = Duration::from_secs(1);
/// The most bytes of an answer that are read.
const MOST_IN_ANSWER: usize = 64 * 1024;
/// Pauses before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];

/// A question or an order to a provider.
pub(super) struct Question {
    pub(super) method: Method,
    /// The path after the provider's address: `/payouts`.
    pub(super) path: String,
    /// The identifier in the header `webhook-id`, the same in every repeat.
    pub(super) id: String,
    pub(super) body: Vec<u8>,
}

/// The reason for a call without a [reservation](ReservedCall).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// A worker requests the instructions of a deposit whose payer waits.
    Payer,
    /// A worker requests the status of a payment.
    Inquirer,
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

/// How long a connection without a call is kept. One that a firewall has forgotten swallows the next call without a word, so
/// after an outage the provider is away for this much longer at most.
const IDLE: Duration = Duration::from_secs(4);

/// Why there is no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoReply {
    /// All places are taken; nothing was sent.
    #[error("too many calls to the rail are under way")]
    Busy,
    /// The circuit is open; nothing was sent.
    #[error("the rail takes no calls now")]
    CircuitOpen,
    /// The request was sent, or may have been, and no usable answer came.
    #[error("the rail did not answer")]
    Silence,
}

/// Calls one provider.
pub(super) struct ProviderClient {
    http: Client<Connector<GaiResolver>, Full<Bytes>>,
    rail: String,
    base_url: String,
    secret: WebhookSecret,
    clock: Arc<dyn Clock>,
    breaker: Breaker,
    places: Places,
}

impl ProviderClient {
    pub(super) fn new(rail: &str, base_url: &str, secret: WebhookSecret, clock: Arc<dyn Clock>) -> Self {
        Self {
            // This client itself counts and sends the repeats.
            http: Client::builder(TokioExecutor::new())
                .retry_canceled_requests(false)
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .build(connector(GaiResolver::new())),
            rail: rail.to_owned(),
            base_url: base_url.trim_end_matches('/').to_owned(),
            secret,
            clock,
            breaker: Breaker::default(),
            places: Places::default(),
        }
    }

    /// Reserves a place, and passage through the circuit, for the call of a deposit that is about to be
    /// committed, or of a withdrawal that a worker is about to submit. If it fails nothing was sent.
    pub(super) async fn reserve(self: &Arc<Self>, direction: Direction) -> Result<ReservedCall, NoReply> {
        if self.breaker.is_open(self.clock.now()) {
            return Err(NoReply::CircuitOpen);
        }
        let place = match direction {
            Direction::Deposit => self.places.for_payer(FOR_A_PAYER).await,
            Direction::Withdrawal => self.places.queued(Line::Payouts, FOR_A_TURN).await,
        };
        let place = place.ok_or(NoReply::Busy)?;
        let passage = self.breaker.promise(self.clock.now()).ok_or(NoReply::CircuitOpen)?;
        Ok(ReservedCall { client: Arc::clone(self), _place: place, passage: Some(passage) })
    }

    /// Sends a question if there is a place and the circuit lets it through.
    pub(super) async fn ask<T>(
        &self,
        question: &Question,
        caller: Caller,
        understood: impl Fn(&Reply) -> Option<T>,
    ) -> Result<T, NoReply> {
        let place = match caller {
            Caller::Payer => self.places.for_payer(FOR_A_PAYER).await,
            Caller::Inquirer => self.places.queued(Line::Questions, FOR_A_TURN).await,
        };
        let Some(_place) = place else { return Err(NoReply::Busy) };
        if !self.breaker.admit(self.clock.now()) {
            return Err(NoReply::CircuitOpen);
        }
        self.call(question, understood).await
    }

    /// Calls until there is an answer that `understood` accepts, at most three times within ten seconds.
    /// Repeats have the same identifier and the same rail reference, so that a provider which received the
    /// first recognises them.
    async fn call<T>(
        &self,
        question: &Question,
        understood: impl Fn(&Reply) -> Option<T>,
    ) -> Result<T, NoReply> {
        // If this call is dropped midway, the guard releases its probe.
        let mut outcome = Outcome { client: self, answered: None };
        let mut cause = "nothing came within its time".to_owned();
        let attempts = async {
            for pause in PAUSES.into_iter().map(Some).chain([None]) {
                match self.exchange(question).await {
                    Ok(reply) => match understood(&reply) {
                        Some(answer) => return Some(answer),
                        None => cause = format!("{} with a body that cannot be understood", reply.status),
                    },
                    Err(what) => cause = what,
                }
                if let Some(pause) = pause {
                    tokio::time::sleep(pause).await;
                }
            }
            None
        };
        let answer = tokio::time::timeout(WHOLE, attempts).await.ok().flatten();
        outcome.answered = Some(answer.is_some());
        if answer.is_none() {
            let (rail, method, path) = (&self.rail, &question.method, &question.path);
            tracing::warn!(rail, %method, path, cause, "a provider gave no answer that can be used");
        }
        answer.ok_or(NoReply::Silence)
    }

    /// One attempt; an error is described for the log.
    async fn exchange(&self, question: &Question) -> Result<Reply, String> {
        let request = self.signed(question, self.clock.now()).map_err(|error| with_causes(&error))?;
        let response = self.http.request(request).await.map_err(|error| with_causes(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MOST_IN_ANSWER).collect().await;
        let body = body.map_err(|error| with_causes(&*error))?.to_bytes();
        Ok(Reply { status, body })
    }

    fn signed(&self, question: &Question, at: Timestamp) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let signature = self.secret.sign(&question.id, at, &question.body);
        let mut request = Request::builder()
            .method(question.method.clone())
            .uri(format!("{}{}", self.base_url, question.path))
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("Quipu/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", &question.id)
            .header("webhook-timestamp", at.seconds())
            .header("webhook-signature", signature);
        if !question.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request.body(Full::from(question.body.clone()))
    }
}

/// A reserved call, which will go through whenever it is made. Dropping this releases its place, and its
/// probe if it was not made.
pub(super) struct ReservedCall {
    client: Arc<ProviderClient>,
    _place: CallPermit,
    /// `None` once the call has begun.
    passage: Option<Passage>,
}

impl ReservedCall {
    /// Makes the call.
    pub(super) async fn ask<T>(
        mut self,
        question: &Question,
        understood: impl Fn(&Reply) -> Option<T>,
    ) -> Result<T, NoReply> {
        if let Some(passage) = self.passage.take() {
            self.client.breaker.redeem(passage, self.client.clock.now());
        }
        self.client.call(question, understood).await
    }
}

impl Drop for ReservedCall {
    fn drop(&mut self) {
        if let Some(passage) = self.passage {
            self.client.breaker.give_back(passage, self.client.clock.now());
        }
    }
}

/// Reports the end of a call to the breaker.
struct Outcome<'a> {
    client: &'a ProviderClient,
    /// `None` until the call has ended.
    answered: Option<bool>,
}

impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        let (rail, now) = (&self.client.rail, self.client.clock.now());
        let Some(answered) = self.answered else { return self.client.breaker.abandon(now) };
        match self.client.breaker.note(answered, now) {
            Some(Turned::Open) => {
                metrics::gauge!(RAILS_LEFT_ALONE).increment(1.0);
                let seconds = CIRCUIT_OPEN_FOR.as_secs();
                tracing::warn!(rail, "the circuit is open: no calls to the provider for {seconds} seconds");
            }
            Some(Turned::Closed) => {
                metrics::gauge!(RAILS_LEFT_ALONE).decrement(1.0);
                tracing::info!(rail, "the circuit is closed: the provider answers again");
            }
            None => {}
        }
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use quipu_kernel::SystemClock;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        time::Instant,
    };

    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn question() -> Question {
        Question {
            method: Method::GET,
            path: "/payouts/1".to_owned(),
            id: "msg_1".to_owned(),
            body: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_accepts_and_is_silent_has_3_seconds_to_connect_and_10_to_answer() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let secret = || WebhookSecret::parse(SECRET).expect("a secret");
        let client = |scheme: &str| {
            let url = format!("{scheme}://127.0.0.1:{port}");
            ProviderClient::new("acme", &url, secret(), Arc::new(SystemClock))
        };
        let question = question();
        // The handshake of TLS is answered by nobody.
        let (begun, unconnected) = (Instant::now(), client("https"));
        unconnected.exchange(&question).await.expect_err("nobody answers");
        assert_eq!(begun.elapsed().as_secs(), 3);
        let (begun, connected) = (Instant::now(), client("http"));
        connected.ask(&question, Caller::Inquirer, |_| Some(())).await.expect_err("nobody answers");
        assert_eq!(begun.elapsed().as_secs(), 10);
    }

    /// As a firewall leaves them that has forgotten its connections: each answers once and is silent from then on.
    #[tokio::test]
    async fn a_connection_that_has_rested_is_not_used_again() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut request = [0; 4_096];
                let read = connection.read(&mut request).await.expect("a request");
                assert!(request[..read].starts_with(b"GET /payouts/1 "));
                connection
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                    .await
                    .expect("answered");
                silent.push(connection);
            }
        });
        let secret = WebhookSecret::parse(SECRET).expect("a secret");
        let client =
            ProviderClient::new("acme", &format!("http://127.0.0.1:{port}"), secret, Arc::new(SystemClock));
        let question = question();
        for _ in 0..2 {
            client.ask(&question, Caller::Inquirer, |_| Some(())).await.expect("answered");
            tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
        }
    }
}
