//! Traces reach a collector by OTLP, and say what happened without saying too much.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use quipu_tests::{
    Database, ScratchFolder, Setup, draft, draft::with, eventually, free_port, python_with_tools,
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

/// Everything that was sent to `/v1/traces`, one batch after the other.
type Batches = Arc<Mutex<Vec<Vec<u8>>>>;

/// A collector that takes what comes: protobuf, in which texts stand as they are.
async fn collector() -> (String, Batches) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let batches = Batches::default();
    let keeping = Arc::clone(&batches);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let batches = Arc::clone(&keeping);
            tokio::spawn(async move {
                let mut connection = BufReader::new(connection);
                while let Some(body) = next_batch(&mut connection).await {
                    batches.lock().expect("not poisoned").push(body);
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
                    if connection.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, batches)
}

async fn next_batch(connection: &mut BufReader<tokio::net::TcpStream>) -> Option<Vec<u8>> {
    let (mut first, mut length) = (String::new(), 0);
    connection.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    assert!(first.starts_with("POST /v1/traces "), "{first}");
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    Some(body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_and_what_follows_from_it_are_spans() {
    let (url, batches) = collector().await;
    let mut gateway = Setup::new(Database::Sqlite).set("TRACING__OTLP_URL", &url).start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    let hosted = merchant.api.create(&with(draft::deposit_mxn(100), "/type", json!("deposit_pp"))).await.ok();
    let page = hosted["payment_page_url"].as_str().expect("a page");
    let (path, token) = page.split_once("/payment-pages/").expect("an address of a page");
    let visitor = gateway.anonymous();
    assert_eq!(visitor.base_url(), path);
    for part in ["", "/details"] {
        assert_eq!(visitor.get(&format!("/payment-pages/{token}{part}")).await.status, 200);
    }
    let answer = merchant.api.get(&format!("/api/v1/payments/{id}?secret=in-the-query")).await;
    let request_id = answer.header("x-request-id").expect("an id").to_owned();
    // What is not sent yet is sent before the process ends.
    assert_eq!(gateway.terminate().await, Some(0));
    let sent = eventually("the spans to arrive", async || {
        let all = batches.lock().expect("not poisoned").concat();
        let sent = String::from_utf8_lossy(&all).into_owned();
        sent.contains(&request_id).then_some(sent)
    })
    .await;
    for text in [
        "quipu",
        "POST /api/v1/payments",
        "GET /api/v1/payments/{id}",
        "GET /payment-pages/{token}",
        "GET /payment-pages/{token}/details",
        "settle",
        &id,
        "service.version",
    ] {
        assert!(sent.contains(text), "no span says {text}");
    }
    for text in ["in-the-query", "qp_test_sk_", "ana@example.com", "Ana Pérez", token] {
        assert!(!sent.contains(text), "a span says {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_of_others_understands_what_it_gets() {
    const FIND: &str = "import os, rotel; print(os.path.dirname(rotel.__file__) + '/rotel-agent', end='')";
    let found = python_with_tools().args(["-c", FIND]).output().expect("python3");
    let agent = String::from_utf8(found.stdout).expect("UTF-8");
    let folder = ScratchFolder::new();
    let (printed, [http, grpc]) = (folder.path().join("printed"), [free_port(), free_port()]);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", &agent, "start", "--exporter", "blackhole"]);
    command.args(["--debug-log", "traces", "--debug-log-verbosity", "detailed"]);
    command.args(["--otlp-http-endpoint", &format!("127.0.0.1:{http}")]);
    command.args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{grpc}")]);
    let out = File::create(&printed).expect("a file");
    let mut collector = command.stdout(out).stderr(Stdio::inherit()).spawn().expect("setpriv");
    let read = || fs::read_to_string(&printed).unwrap_or_default();
    eventually("the collector to start", async || read().contains("Starting Rotel").then_some(())).await;

    let url = format!("http://127.0.0.1:{http}");
    let mut gateway = Setup::new(Database::Sqlite).set("TRACING__OTLP_URL", &url).start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(gateway.terminate().await, Some(0));
    let texts = [
        "service.name: Str(quipu)".to_owned(),
        "Name           : POST /api/v1/payments\n".to_owned(),
        "http.route: Str(/api/v1/payments)".to_owned(),
        "Name           : settle\n".to_owned(),
        format!("payment_id: Str({id})"),
    ];
    eventually("the collector to tell of all spans", async || {
        let told = read();
        texts.iter().all(|text| told.contains(text)).then_some(())
    })
    .await;
    collector.kill().expect("it runs");
    collector.wait().expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_harms_nobody() {
    let mut gateway =
        Setup::new(Database::Sqlite).set("TRACING__OTLP_URL", "http://127.0.0.1:9/v1/traces").start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.assert_no_panic();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_that_a_silent_collector_lost_are_in_the_log() {
    // Connections are made, and nothing is read.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("bound"));
    let mut gateway = Setup::new(Database::Sqlite).set("TRACING__OTLP_URL", &url).start().await;
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    assert_eq!(gateway.terminate().await, Some(0));
    let log = gateway.log();
    assert!(log.contains("the last traces could not be sent"), "{log}");
}
