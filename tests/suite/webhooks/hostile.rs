//! Receivers that mean harm: what the log says of them, and that nobody else notices.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use futures_util::{FutureExt as _, future::select_all};
use quipu_tests::{Behaviour, Database, Gateway, Receiver, Setup, draft, eventually, on_both_databases};
use serde_json::{Value, json};

use super::{endpoint, path_of};

on_both_databases!(
    hostile_answers_are_failed_attempts_and_harm_nobody,
    test_events_to_silent_receivers_are_few_at_once,
);

const PAYMENTS: usize = 20;
/// How much more memory the gateway may take meanwhile, in KiB.
const MOST_KIB: u64 = 32 * 1024;

const BROKEN: &str = "the answer ended early or was malformed";
const TOO_MUCH: &str = "the answer was too long, compressed, or preceded by too many 1xx answers";

/// An answer of less than 64 KiB that unpacks to 32 MiB.
fn bomb() -> Behaviour {
    let line = "head -c 33554432 /dev/zero | gzip -9";
    let packed = Command::new("bash").args(["-c", line]).stderr(Stdio::inherit()).output().expect("bash");
    let packed = packed.stdout;
    assert!((16_384..65_536).contains(&packed.len()), "{}", packed.len());
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", packed.len());
    Behaviour::Bytes([head.into_bytes(), packed].concat())
}

fn endless(beginning: &str, again: String, pause: Duration) -> Behaviour {
    Behaviour::Endless(format!("HTTP/1.1 200 OK\r\n{beginning}"), again, pause)
}

/// Paths that answer wrongly, how each does, and the status and error that its attempts have.
fn failing(receiver: &Receiver) -> [(&'static str, Behaviour, Value, Value); 5] {
    let inside = format!("Location: {}\r\n", receiver.url("/inside"));
    [
        ("/body", endless("\r\n", "x".repeat(65_536), Duration::ZERO), json!(200), json!(TOO_MUCH)),
        (
            "/head",
            endless("", "X-Again: and again\r\n".repeat(1_000), Duration::ZERO),
            Value::Null,
            json!(BROKEN),
        ),
        ("/bomb", bomb(), json!(200), json!(TOO_MUCH)),
        ("/redirects", Behaviour::Answer(307, inside, String::new()), json!(307), Value::Null),
        ("/resets", Behaviour::Reset("HTTP/1.1 200 OK\r\nConte".to_owned()), Value::Null, json!(BROKEN)),
    ]
}

async fn hostile_answers_are_failed_attempts_and_harm_nobody(database: Database) {
    let setup = Setup::new(database).set("SIMULATOR__DELAY", "1h").set("WEBHOOKS__RETRY_SCHEDULE", "1h");
    let gateway = setup.start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let mut endpoints = Vec::new();
    for (path, behaviour, status, error) in failing(&receiver) {
        receiver.behave(path, behaviour);
        endpoints.push((
            endpoint(&merchant.api, &receiver.url(path), &["payment.created"]).await,
            status,
            error,
        ));
    }
    receiver
        .behave("/drips", endless("Content-Length: 1000\r\n\r\n", "x".to_owned(), Duration::from_secs(1)));
    for path in ["/drips", "/well"] {
        endpoint(&merchant.api, &receiver.url(path), &["payment.created"]).await;
    }
    let before = gateway.memory();
    gateway.forget_peak();
    for _ in 0..PAYMENTS {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    receiver.wait_for("/well", PAYMENTS).await;
    for (made, status, error) in endpoints {
        let log = path_of(&made, "/events?status=pending&limit=100");
        let tried = eventually("every delivery to be tried", async || {
            let events = merchant.api.get(&log).await.ok()["data"].as_array().expect("a list").clone();
            let tried =
                events.iter().all(|event| event["attempts"].as_array().is_some_and(|it| !it.is_empty()));
            (events.len() == PAYMENTS && tried).then_some(events)
        });
        for event in tried.await {
            let attempts = event["attempts"].as_array().expect("a list");
            assert_eq!(attempts.len(), 1, "{event}");
            let attempt = &attempts[0];
            assert_eq!(
                (&attempt["http_status"], &attempt["error"]),
                (&status, &error),
                "{}: {event}",
                made["url"]
            );
            assert!(!attempt["next_attempt_at"].is_null(), "{event}");
        }
    }
    assert_eq!(receiver.count("/inside"), 0, "no redirect is followed");
    let grown = gateway.peak().saturating_sub(before);
    assert!(grown < MOST_KIB, "memory grew by {grown} KiB");
    gateway.assert_no_panic();
}

async fn test_events_to_silent_receivers_are_few_at_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, other) = (gateway.merchant().await, gateway.merchant().await);
    let receiver = Receiver::start().await;
    receiver.behave("/silent", Behaviour::Hang);
    let silent = endpoint(&merchant.api, &receiver.url("/silent"), &["payment.created"]).await;
    let own = endpoint(&merchant.api, &receiver.url("/well"), &["payment.created"]).await;
    let well = endpoint(&other.api, &receiver.url("/well"), &["payment.created"]).await;
    let body = json!({ "event_type": "payment.created" });
    let path = path_of(&silent, "/test");
    let asked = select_all((0..7).map(|_| merchant.api.post(&path, &body).boxed()));
    let impatience = async {
        receiver.wait_for("/silent", 1).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
    };
    // Nobody waits for the answers any longer, and the attempts go on all the same.
    tokio::select! {
        (answer, ..) = asked => panic!("silence, not {answer}"),
        () = impatience => {}
    }
    assert_eq!(receiver.count("/silent"), 1, "the others have left the queue");
    for (api, endpoint) in [(&merchant.api, &own), (&other.api, &well)] {
        let told = api.post(&path_of(endpoint, "/test"), &body).await.data();
        assert_eq!(told["delivered"], true, "it keeps no other waiting: {told}");
    }
}
