//! `quipu listen`: a receiver of webhooks for development. It answers every delivery with 200, and prints it
//! and whether its signature is valid.

use std::{convert::Infallible, net::Ipv4Addr, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Request, Response, StatusCode,
    body::{Body, Bytes},
    header::HeaderMap,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use quipu_kernel::{Clock, SystemClock, Timestamp};
use quipu_signing::WebhookSecret;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::{signals::Signals, standard_output};

/// The largest delivery that is read.
const LARGEST: usize = 1 << 20;
/// How far a delivery's timestamp may be from our time, as the guide tells receivers to check.
const TOLERANCE: Duration = Duration::from_mins(5);

/// Where to listen, and for which secret.
#[derive(Debug, clap::Args)]
pub(super) struct Listen {
    /// The port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9099)]
    port: u16,
    /// The endpoint's secret, whsec_…; signatures are checked with it
    #[arg(long, value_parser = secret)]
    secret: Option<WebhookSecret>,
}

fn secret(text: &str) -> Result<WebhookSecret, String> {
    WebhookSecret::parse(text).map_err(|error| error.to_string())
}

impl Listen {
    /// Listens until a signal. Prints one JSON object for each line if `as_json`.
    pub(super) fn run(self, as_json: bool) -> Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut signals = Signals::listen()?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await;
            let listener = listener.with_context(|| format!("port {} cannot be listened on", self.port))?;
            let address = format!("http://{}", listener.local_addr()?);
            standard_output::write(&if as_json {
                format!("{}\n", json!({ "listening": address }))
            } else {
                format!("listening on {address}\n")
            })?;
            let secret = Arc::new(self.secret);
            loop {
                tokio::select! {
                    () = signals.first() => return Ok(ExitCode::SUCCESS),
                    accepted = listener.accept() => {
                        let (connection, _) = accepted.context("a connection could not be accepted")?;
                        tokio::spawn(serve(connection, Arc::clone(&secret), as_json));
                    }
                }
            }
        })
    }
}

async fn serve(connection: TcpStream, secret: Arc<Option<WebhookSecret>>, as_json: bool) {
    let service = service_fn(|request| {
        let secret = Arc::clone(&secret);
        async move { Ok::<_, Infallible>(answer(request, secret.as_ref().as_ref(), as_json).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_mins(1))
        .serve_connection(TokioIo::new(connection), service);
    // A sender that breaks off is no error of this receiver.
    let _ = serving.await;
}

async fn answer<B>(
    request: Request<B>,
    secret: Option<&WebhookSecret>,
    as_json: bool,
) -> Response<Full<Bytes>>
where
    B: Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, LARGEST).collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let text = delivery_text(&head.headers, &body.to_bytes(), secret, SystemClock.now(), as_json);
    match standard_output::write(&text) {
        Ok(()) => plain(StatusCode::OK),
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

/// The printed form of a delivery: its type, its identifier, whether its signature is valid, and its body.
fn delivery_text(
    headers: &HeaderMap,
    body: &[u8],
    secret: Option<&WebhookSecret>,
    now: Timestamp,
    as_json: bool,
) -> String {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (id, signature) = (header("webhook-id"), header("webhook-signature"));
    let seconds: Option<i64> = header("webhook-timestamp").parse().ok();
    let verdict = match (secret, seconds) {
        (None, _) => "signature not checked: give --secret",
        (Some(_), None) => "signature MISSING",
        (Some(secret), Some(seconds)) if !secret.verify(id, seconds, body, signature) => {
            "signature does NOT verify"
        }
        (Some(_), Some(seconds)) if seconds.abs_diff(now.seconds()) > TOLERANCE.as_secs() => {
            "signature verifies, but its time is NOT within five minutes"
        }
        (Some(_), Some(_)) => "signature verifies",
    };
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let name = json.as_ref().and_then(|json| json["type"].as_str()).unwrap_or("(no type)");
    if as_json {
        let body = json.clone().unwrap_or_else(|| String::from_utf8_lossy(body).into());
        return format!("{}\n", json!({ "type": name, "id": id, "signature": verdict, "body": body }));
    }
    let shown = json.as_ref().map_or_else(|| String::from_utf8_lossy(body).into_owned(), Value::to_string);
    // Nothing that a sender writes moves the terminal's cursor.
    let clean = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    format!("{}  {}  {verdict}\n{}\n", clean(name), clean(id), clean(&shown))
}

#[cfg(test)]
mod tests {
    use quipu_signing::SystemEntropy;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);
    const BODY: &[u8] = br#"{"type":"payment.created","id":"evt_1"}"#;

    fn verdict(secret: Option<&WebhookSecret>, signed_by: &WebhookSecret, at: Timestamp) -> String {
        let mut headers = HeaderMap::new();
        let signature = signed_by.sign("evt_1", at, BODY);
        headers.insert("webhook-id", "evt_1".parse().expect("a value"));
        headers.insert("webhook-timestamp", at.seconds().into());
        headers.insert("webhook-signature", signature.parse().expect("a value"));
        delivery_text(&headers, BODY, secret, NOON, false)
    }

    #[test]
    fn as_json_each_delivery_is_a_line() {
        let told = |body: &[u8]| {
            let line = delivery_text(&HeaderMap::new(), body, None, NOON, true);
            assert_eq!(line.find('\n'), Some(line.len() - 1));
            serde_json::from_str::<Value>(&line).expect("JSON")
        };
        let delivery = told(BODY);
        assert_eq!(
            (&delivery["type"], &delivery["body"]["id"]),
            (&json!("payment.created"), &json!("evt_1"))
        );
        assert_eq!(delivery["signature"], "signature not checked: give --secret");
        assert_eq!(told(b"\x1b[2J\n")["body"], "\u{1b}[2J\n");
    }

    #[test]
    fn each_delivery_is_told_with_what_its_signature_is_worth() {
        let ours = WebhookSecret::generate(&SystemEntropy);
        let other = WebhookSecret::generate(&SystemEntropy);
        let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
        for (secret, signed_by, at, expected) in [
            (Some(&ours), &ours, NOON, "signature verifies"),
            (Some(&ours), &other, NOON, "signature does NOT verify"),
            (None, &other, NOON, "signature not checked: give --secret"),
            (
                Some(&ours),
                &ours,
                NOON.minus(Duration::from_mins(6)),
                "signature verifies, but its time is NOT within five minutes",
            ),
        ] {
            let line = first_line(verdict(secret, signed_by, at));
            assert_eq!(line, format!("payment.created  evt_1  {expected}"));
        }
    }

    #[test]
    fn a_request_that_is_no_delivery_is_shown_without_its_control_characters() {
        let secret = WebhookSecret::generate(&SystemEntropy);
        let text = delivery_text(&HeaderMap::new(), b"\x1b[2Jhello", Some(&secret), NOON, false);
        assert_eq!(text, "(no type)    signature MISSING\n[2Jhello\n");
    }
}
