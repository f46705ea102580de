//! Clients that say nothing or nonsense, and the log of a process that has to do with them.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use quipu_tests::{Database, Gateway, Setup, draft, eventually};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// How soon somebody else is served.
const SOON: Duration = Duration::from_secs(20);

pub(crate) fn address_of(gateway: &Gateway) -> SocketAddr {
    gateway.anonymous().base_url().trim_start_matches("http://").parse().expect("an address")
}

/// A connection from the address 127.0.0.`last`.
async fn connect(gateway: &Gateway, last: u8) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, last], 0).into())?;
    socket.connect(address_of(gateway)).await
}

/// The answer to `/healthz` from another address than those of silent clients, if one comes within a second.
async fn is_served(gateway: &Gateway) -> bool {
    let exchange = async {
        let mut stream = connect(gateway, 9).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer.starts_with(b"HTTP/1.1 200"))
    };
    matches!(timeout(Duration::from_secs(1), exchange).await, Ok(Ok(true)))
}

/// The lines of the log that report an error, once everything until now is in it.
async fn errors(gateway: &Gateway) -> Vec<String> {
    // The connections that were in the way may be closing still, and one of them may be the client's.
    let last = eventually("a deposit to be answered", async || {
        let draft = draft::deposit_mxn(100).to_string().into_bytes();
        gateway.v1().try_send(Method::POST, "/api/v1/payments", Some(draft), &[]).await.ok()
    })
    .await;
    let id = last.ok()["transaction_id"].as_str().expect("an id").to_owned();
    eventually("the log to come as far as this", async || gateway.log().contains(&id).then_some(())).await;
    let log = gateway.log();
    let level = |line: &str| serde_json::from_str::<Value>(line).map(|line| line["level"] == "ERROR");
    let errors = log.lines().filter(|line| level(line).unwrap_or(true) || line.contains("panicked"));
    errors.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_silent_clients_keep_nobody_out_of_a_process_with_256_descriptors() {
    let gateway = Setup::new(Database::Sqlite).descriptors(256).set("LOG__FORMAT", "json").start().await;
    silent_clients_keep_nobody_out(&gateway).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_out_of_a_process_with_fewer_descriptors_than_it_needs_which_says_so() {
    let gateway = Setup::new(Database::Sqlite).descriptors(160).set("LOG__FORMAT", "json").start().await;
    silent_clients_keep_nobody_out(&gateway).await;
    assert!(gateway.log().contains("this process may open fewer files than"), "{}", gateway.log());
}

async fn silent_clients_keep_nobody_out(gateway: &Gateway) {
    let key = gateway.merchant().await.issue(&json!({})).await["key"].as_str().expect("a key").to_owned();
    let in_a_body = format!(
        "POST /api/v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Length: 9\r\n\r\n{{"
    );
    for (addresses, sent) in [(1, ""), (30, ""), (30, in_a_body.as_str())] {
        let mut silent = Vec::new();
        for last in (10..10 + addresses).cycle().take(300) {
            let mut stream = connect(gateway, last).await.expect("a connection");
            // One that got no place may be closed by now.
            let _written = stream.write_all(sent.as_bytes()).await;
            silent.push(stream);
        }
        let begun = Instant::now();
        while !is_served(gateway).await {
            assert!(begun.elapsed() < SOON, "nobody of {addresses} who say {sent:?} makes room for another");
        }
        drop(silent);
    }
    assert_eq!(errors(gateway).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_request_is_no_error_of_ours() {
    let gateway = Setup::new(Database::Sqlite).set("LOG__FORMAT", "json").start().await;
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "y".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200));
    for (sent, expected) in [
        ("nonsense\r\n\r\n", "400"),
        ("\u{0}\u{1}\u{2}\u{3}\r\n\r\n", "400"),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n", "400"),
        ("GET / HTTP/9.9\r\nHost: x\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nA B: x\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (many.as_str(), "4"),
        (long.as_str(), "431"),
    ] {
        let mut stream = connect(&gateway, 1).await.expect("a connection");
        // The gateway may have answered and closed before it has read all of a long head.
        let _ = stream.write_all(sent.as_bytes()).await;
        let mut answer = Vec::new();
        let ended = timeout(Duration::from_mins(1), stream.read_to_end(&mut answer)).await;
        let _reset_or_closed = ended.expect("in time");
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {expected}")), "{sent:.80?}: {answer}");
        let id = answer.split_once("x-request-id: ").and_then(|(_, rest)| rest.split_once("\r\n"));
        let (id, _) = id.expect("every answer has one");
        eventually("the refusal to be logged", async || gateway.log().contains(id).then_some(())).await;
    }
    // Nor is one that ends in the middle.
    for sent in ["", "GET", "POST /api/v1/payments HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"] {
        let mut stream = connect(&gateway, 1).await.expect("a connection");
        stream.write_all(sent.as_bytes()).await.expect("written");
        stream.set_zero_linger().expect("an option");
    }
    assert_eq!(errors(&gateway).await, Vec::<String>::new());
}

/// A client that sends all of its body before it reads must not find its connection reset.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let body = vec![b'x'; 3_000_000];
    let many = "X: y\r\n".repeat(200);
    for (head, expected) in [
        ("Host: x\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.1 400"),
        (many.as_str(), "HTTP/1.1 431"),
        ("Host: x\r\n", "HTTP/1.1 401"),
    ] {
        let mut stream = connect(&gateway, 1).await.expect("a connection");
        let head = format!("POST /api/v1/payments HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(&body).await.expect("nothing resets it");
        let mut answer = String::new();
        let answered = timeout(Duration::from_mins(1), stream.read_to_string(&mut answer)).await;
        answered.expect("in time").expect("the answer is whole");
        assert!(answer.starts_with(expected), "{head:.80?}: {answer}");
        assert!(answer.to_ascii_lowercase().contains("x-request-id"), "{answer}");
    }
}
