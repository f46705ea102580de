//! The provider's HTTP side.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::{
    Method, Request, Response,
    body::{Body, Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use quipu_signing::WebhookSecret;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::book::{Behaviour, Book, Endpoint};

type Answer = Response<Either<Full<Bytes>, Endless>>;

/// Serves until its task is aborted.
pub(super) async fn serve(listener: TcpListener, book: Arc<Mutex<Book>>, secret: WebhookSecret) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (book, secret) = (Arc::clone(&book), secret.clone());
        let service = service_fn(move |request| answer(request, Arc::clone(&book), secret.clone()));
        connections.spawn(async move {
            // A caller that disconnects during an answer is no failure of the provider.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// An error that ends the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed")]
struct Closed;

async fn answer(
    request: Request<Incoming>,
    book: Arc<Mutex<Book>>,
    secret: WebhookSecret,
) -> Result<Answer, Closed> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
    let reference = head.uri.path().strip_prefix("/payments/").map(str::to_owned);
    let endpoint = match (&head.method, head.uri.path()) {
        (&Method::POST, "/instructions") => Endpoint::Instructions,
        (&Method::POST, "/payouts") => Endpoint::Payouts,
        (&Method::GET, _) if reference.is_some() => Endpoint::Status,
        _ => return Ok(plain(404, "there is nothing here")),
    };
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let seconds = header("webhook-timestamp").parse().unwrap_or(0);
    if !secret.verify(header("webhook-id"), seconds, &body, header("webhook-signature")) {
        book.lock().unwrap_or_else(PoisonError::into_inner).unsigned += 1;
        return Ok(plain(401, "not signed"));
    }
    let behaviour = {
        let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
        let order: Value = serde_json::from_slice(&body).unwrap_or_default();
        let known = order["rail_reference"].as_str().is_some_and(|name| book.orders.contains_key(name));
        // An order that was accepted is not refused later.
        let behaviour = match book.arrive(endpoint) {
            Behaviour::Reject if known => Behaviour::Honest,
            behaviour => behaviour,
        };
        if endpoint != Endpoint::Status && behaviour.takes_on() {
            book.take_on(endpoint, serde_json::from_slice(&body).expect("orders are JSON"));
        }
        behaviour
    };
    match behaviour {
        Behaviour::Hang | Behaviour::TakeAndHang => std::future::pending().await,
        Behaviour::Close => Err(Closed),
        Behaviour::TakeAndTalkNonsense => Ok(plain(200, "<html>Gateway maintenance</html>")),
        Behaviour::TakeAndFail => Ok(json_answer(500, &json!({ "error": "out of paper" }))),
        Behaviour::Endless => Ok(Response::new(Either::Right(Endless))),
        Behaviour::Reject => Ok(json_answer(
            422,
            &json!({ "status": "rejected", "code": "NO_ACCOUNT", "message": "no such account" }),
        )),
        Behaviour::TakeAndWait => {
            let mut answering = book.lock().unwrap_or_else(PoisonError::into_inner).is_answering.subscribe();
            answering.wait_for(|is_answering| *is_answering).await.map_err(|_| Closed)?;
            let book = book.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(json_answer(200, &honest(&book, endpoint, reference.as_deref(), &body)))
        }
        Behaviour::Honest => {
            let book = book.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(json_answer(200, &honest(&book, endpoint, reference.as_deref(), &body)))
        }
    }
}

/// The answer that the protocol requires.
fn honest(book: &Book, endpoint: Endpoint, reference: Option<&str>, body: &[u8]) -> Value {
    match endpoint {
        Endpoint::Instructions => {
            let order: Value = serde_json::from_slice(body).expect("orders are JSON");
            let account = json!({
                "amount": order["amount"].to_string(), "purpose": order["rail_reference"],
                "currency": order["currency"], "bank_name": "Bank of Tests", "swift_code": null,
                "account_holder": "Tests", "account_number": "646180157000000004",
            });
            json!({ "instructions": { "bank_details": account } })
        }
        Endpoint::Payouts => json!({ "status": "accepted", "provider_reference": "their-own-7" }),
        Endpoint::Status => match reference.and_then(|reference| book.orders.get(reference)) {
            Some(order) => json!({
                "status": order.status, "amount": order.body["amount"], "currency": order.body["currency"],
                "provider_reference": "their-own-7",
            }),
            None => json!({ "status": "unknown" }),
        },
    }
}

fn plain(status: u16, text: &'static str) -> Answer {
    let body = Either::Left(Full::from(text));
    Response::builder().status(status).body(body).expect("a status code")
}

fn json_answer(status: u16, body: &Value) -> Answer {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Either::Left(Full::from(body.to_string()))).expect("a status code")
}

/// A body without an end.
#[derive(Debug)]
pub(super) struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; 4096])))))
    }
}
