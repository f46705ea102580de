//! Starting, being watched, and stopping.

use std::{
    os::unix::fs::PermissionsExt,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quipu_tests::{CommandOutput, Database, Gateway, Setup, draft, eventually, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

/// How soon what has to end ends, on a machine however busy.
const SOON: Duration = Duration::from_mins(1);

on_both_databases!(
    production_serves_the_same_data_and_prints_nothing,
    every_line_of_a_json_log_is_json_and_names_its_request,
    a_wrong_master_key_is_refused_before_anything_is_made,
    what_was_begun_before_a_stop_is_answered,
    the_last_answer_of_a_kept_connection_says_so,
    the_metrics_tell_of_calls_commits_payouts_and_the_ledger,
    withdrawals_that_wait_too_long_are_measured,
    a_start_that_cannot_be_is_explained,
    no_folder_is_made_in_vain,
);

async fn production_serves_the_same_data_and_prints_nothing(database: Database) {
    let mut gateway = Gateway::start(database).await;
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    assert_eq!(gateway.terminate().await, Some(0));
    if database == Database::Sqlite {
        let of_database = std::fs::metadata(gateway.data_folder().join("quipu.db")).expect("there");
        assert_eq!(of_database.permissions().mode() & 0o777, 0o600, "customers are in it");
    }
    gateway.restart_for_production().await;
    let list = gateway.v1().get("/api/v1/payments").await.ok();
    assert_eq!(list["total"], 1);
    assert_eq!(gateway.stdout(), "");
    let merchants = gateway.operator().get("/operator/v1/merchants").await.ok();
    assert_eq!(merchants["total"], 2, "no demo is made");
    assert_eq!(gateway.terminate().await, Some(0));
}

async fn every_line_of_a_json_log_is_json_and_names_its_request(database: Database) {
    let mut gateway = Setup::new(database).set("LOG__FORMAT", "json").start().await;
    let named = [("X-Request-Id", "a-request-of-this-test")];
    let made = gateway.v1().post_with("/api/v1/payments", &draft::deposit_mxn(100), &named).await.ok();
    let keyed = [("X-Request-Id", "a-request-with-a-key"), ("Idempotency-Key", "a-key")];
    let keyed = gateway.v1().post_with("/api/v1/payments", &draft::deposit_mxn(100), &keyed).await.ok();
    let unnamed = gateway.v1().get("/api/v1/payments/pay_nothing?email=a@b.example").await;
    let unnamed = unnamed.header("X-Request-Id").expect("every answer has one").to_owned();
    assert_eq!(gateway.terminate().await, Some(0));
    let log = gateway.log();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let line_of = |id: &str| lines.iter().find(|line| line["request_id"] == id).expect("a line");
    let line = line_of("a-request-of-this-test");
    assert_eq!((&line["method"], &line["route"]), (&"POST".into(), &"/api/v1/payments".into()));
    assert_eq!((&line["status"], &line["level"]), (&200.into(), &"INFO".into()));
    assert_eq!(line["payment_id"], made["transaction_id"]);
    assert_eq!(line_of("a-request-with-a-key")["payment_id"], keyed["transaction_id"]);
    // The route as it stands in the table: paths and queries are the caller's, who may put anything there.
    assert_eq!(line_of(&unnamed)["route"], "/api/v1/payments/{id}");
    assert!(!log.contains("pay_nothing") && !log.contains("b.example"), "{log}");
}

async fn a_wrong_master_key_is_refused_before_anything_is_made(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let credentials = gateway.data_folder().join("dev-credentials.json");
    assert_eq!(gateway.terminate().await, Some(0));
    let before = std::fs::read(&credentials).expect("the file of --dev");
    let other = ("QUIPU__MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    for arguments in [&["serve", "--dev"][..], &["serve"], &["merchant", "list"]] {
        explained(&gateway.run_under(&[other], arguments), "master_key", arguments);
    }
    assert_eq!(std::fs::read(&credentials).expect("still there"), before);
    // As the former of two it opens everything again.
    let kept = std::fs::read_to_string(gateway.data_folder().join("master.key")).expect("made by --dev");
    let both = [other, ("QUIPU__RETIRED_MASTER_KEYS", kept.trim())];
    let listed: Value =
        serde_json::from_str(gateway.run_under(&both, &["merchant", "list"]).ok()).expect("JSON");
    assert_eq!(listed["total"], 2);
    // Without the key of one merchant nothing is served. Commands go on: one of them replaces what cannot be opened.
    gateway.run_under(&both, &["merchant", "create", "--name", "Tienda"]).ok();
    let kept = [("QUIPU__MASTER_KEY", kept.trim())];
    explained(&gateway.run_under(&kept, &["serve"]), "(missing: ", &["serve"]);
    let told = gateway.run_under(&kept, &["merchant", "list"]);
    assert!(told.ok().contains("Tienda"), "{}", told.stdout);
    assert!(told.stderr.contains("some secrets in the database cannot be opened"), "{}", told.stderr);
}

fn address_of(gateway: &Gateway) -> String {
    gateway.anonymous().base_url().trim_start_matches("http://").to_owned()
}

/// Sends the head of a creation, and answers once the gateway has begun with it and awaits the body.
async fn begin_creation(gateway: &Gateway, length: usize) -> TcpStream {
    let (address, key) = (address_of(gateway), gateway.credential("/v1/api_key"));
    let mut client = TcpStream::connect(&address).await.expect("the gateway listens");
    let head = format!(
        "POST /api/v1/payments HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n",
    );
    client.write_all(head.as_bytes()).await.expect("sent");
    // The gateway has begun with it when it asks for the body.
    let mut asked = [0; 12];
    client.read_exact(&mut asked).await.expect("an answer begins");
    assert_eq!(&asked, b"HTTP/1.1 100");
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes the 26 s that calls in progress have after a stop; `make soak` runs it"]
async fn a_call_that_does_not_end_is_cut_off_by_a_stop() {
    let mut gateway = Gateway::start(Database::Sqlite).await;
    let mut client = begin_creation(&gateway, 100).await;
    client.write_all(b"{").await.expect("sent");
    let begun = Instant::now();
    assert_eq!(gateway.terminate().await, Some(2));
    let took = begun.elapsed().as_secs();
    assert!((26..30).contains(&took), "{took} s");
    gateway.restart().await;
    assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 0);
}

async fn what_was_begun_before_a_stop_is_answered(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let address = address_of(&gateway);
    let body = draft::deposit_mxn(100).to_string();
    let (first, rest) = body.split_at(20);
    let mut client = begin_creation(&gateway, body.len()).await;
    client.write_all(first.as_bytes()).await.expect("sent");
    let stopped = Command::new("kill").args(["-TERM", &gateway.pid().to_string()]).status();
    assert!(stopped.expect("kill can be run").success());
    eventually("new connections to be refused", async || TcpStream::connect(&address).await.err()).await;
    client.write_all(rest.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    let answered = timeout(SOON, client.read_to_string(&mut answer)).await.expect("in time");
    answered.expect("the answer ends with the connection");
    assert!(answer.contains("HTTP/1.1 200"), "{answer}");
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

/// Or its client would send another request, and not know what has become of it.
async fn the_last_answer_of_a_kept_connection_says_so(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let address = address_of(&gateway);
    let (begun, mut clients) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for _ in 0..8 {
        let (address, begun) = (address.clone(), Arc::clone(&begun));
        let mut is_first = true;
        clients.spawn(async move {
            let mut stream = BufReader::new(TcpStream::connect(&address).await.expect("it listens"));
            loop {
                stream
                    .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                    .await
                    .expect("it is open still");
                let head = head_of(&mut stream).await;
                assert!(head.starts_with("http/1.1 200"), "{head}");
                if head.contains("connection: close") {
                    return;
                }
                begun.fetch_add(usize::from(is_first), Ordering::Relaxed);
                is_first = false;
            }
        });
    }
    eventually("all to be answered", async || (begun.load(Ordering::Relaxed) == 8).then_some(())).await;
    assert_eq!(gateway.terminate().await, Some(0));
    timeout(SOON, clients.join_all()).await.expect("all of them end");
    assert!(!gateway.log().contains("ERROR"), "{}", gateway.log());
}

/// Whoever connects is answered; everybody else is left waiting by the system, and refused in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_connected_in_vain_during_a_stop() {
    let mut gateway = Gateway::start(Database::Sqlite).await;
    let address = address_of(&gateway);
    let answered = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..4 {
        let (address, answered) = (address.clone(), Arc::clone(&answered));
        clients.spawn(async move {
            loop {
                let connecting = TcpStream::connect(&address);
                let mut stream = match tokio::time::timeout(Duration::from_millis(20), connecting).await {
                    Err(_waits) => continue,
                    Ok(Err(_refused)) => return,
                    Ok(Ok(stream)) => stream,
                };
                let mut answer = String::new();
                let exchange = async {
                    stream
                        .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                        .await?;
                    stream.read_to_string(&mut answer).await
                };
                exchange.await.expect("not reset");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    eventually("many to be answered", async || (answered.load(Ordering::Relaxed) > 100).then_some(())).await;
    assert_eq!(gateway.terminate().await, Some(0));
    timeout(SOON, clients.join_all()).await.expect("all of them end");
}

/// The head of the next answer in lower case; its body is read too.
async fn head_of(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = stream.read_line(&mut head).await.expect("an answer");
        assert!(read > 0, "no answer, and nothing told of the end: {head:?}");
    }
    let head = head.to_ascii_lowercase();
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split_once("\r\n"));
    let length: usize = length.and_then(|(length, _)| length.parse().ok()).expect("a length");
    stream.read_exact(&mut vec![0; length]).await.expect("the body");
    head
}

async fn the_metrics_tell_of_calls_commits_payouts_and_the_ledger(database: Database) {
    let gateway = Setup::new(database).set("LOG__FORMAT", "json").start().await;
    let metrics = gateway.metrics().await;
    let unchecked = metrics.send(Method::GET, "/metrics", None, &[]).await.text;
    for gauge in ["quipu_ledger_breaches 0", "quipu_ledger_checked_timestamp_seconds 0"] {
        assert!(unchecked.contains(gauge), "{unchecked}");
    }
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    gateway.operator().get("/operator/v1/ledger/check").await.data();
    let limits = json!({ "rate_limits": { "standard_per_minute": 1 } });
    let narrow = gateway.merchant().await.key(&limits).await;
    for status in [200, 429, 429] {
        assert_eq!(narrow.get("/api/v1/balance").await.status, status);
    }
    let names = [
        "quipu_requests_total{method=\"POST\",path=\"/api/v1/payments\",status=\"2xx\"} 1",
        "quipu_request_seconds_count",
        // Before the first one, so that it is seen as a change.
        "quipu_rate_limited_total{method=\"POST\",path=\"/api/v1/payments\"} 0",
        "quipu_rate_limited_total{method=\"GET\",path=\"/api/v1/balance\"} 2",
        "quipu_commit_batch_changes_count",
        "quipu_commit_seconds_count",
        "quipu_commit_waiting ",
        "quipu_payouts_waiting 0",
        "quipu_payouts_oldest_seconds 0",
        "quipu_ledger_breaches 0",
        "quipu_ledger_checked_timestamp_seconds 1",
    ];
    // A commit is measured after its answer has left.
    eventually("everything to be measured", async || {
        let answer = metrics.send(Method::GET, "/metrics", None, &[]).await;
        assert_eq!(answer.status, 200);
        let missing: Vec<_> = names.into_iter().filter(|name| !answer.text.contains(name)).collect();
        missing.is_empty().then_some(())
    })
    .await;
    let tampering = "UPDATE balances SET available = available + 1, adjustment = adjustment + 1";
    gateway.execute_sql(tampering).expect("balances may be updated");
    let check = gateway.operator().get("/operator/v1/ledger/check").await.data();
    let breaches = check["breaches"].as_array().expect("a list").len();
    let told = metrics.send(Method::GET, "/metrics", None, &[]).await.text;
    assert!(
        breaches > 0 && told.contains(&format!("\nquipu_ledger_breaches {breaches}\n")),
        "{check} {told}"
    );
    // Metrics are for those who run the gateway, and not on the address of those who use it.
    gateway.anonymous().get("/metrics").await.refused(404, "ROUTE_NOT_FOUND");
    assert_eq!(metrics.send(Method::GET, "/healthz", None, &[]).await.status, 404);
}

async fn withdrawals_that_wait_too_long_are_measured(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").set("LOG__FORMAT", "json").start().await;
    let (merchant, metrics) = (gateway.merchant().await, gateway.metrics().await);
    merchant.fund("ARS", 10_000).await;
    let names = [
        "quipu_payouts_waiting ",
        "quipu_payouts_oldest_seconds ",
        "quipu_work_waiting{queue=\"settlement\"} ",
        "quipu_work_oldest_seconds{queue=\"settlement\"} ",
    ];
    let hour_ago = i64::try_from(std::time::UNIX_EPOCH.elapsed().expect("a clock").as_millis())
        .expect("fits")
        - 3_600_000;
    // The worker looks every few seconds, and what it finds waits no longer: then another is tried.
    let measured = eventually("a withdrawal to be seen waiting", async || {
        merchant.create(&draft::withdrawal_ars(10)).await;
        let past =
            format!("UPDATE work SET due_at = {hour_ago}, due_since = {hour_ago} WHERE queue = 'settlement' AND action = 'submit'");
        gateway.execute_sql(&past).expect("work may be updated");
        let text = metrics.send(Method::GET, "/metrics", None, &[]).await.text;
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0.0, |value| value.parse().expect("a number"))
        };
        let values = names.map(value);
        (values[0] > 0.0).then_some(values)
    })
    .await;
    assert!(measured[2] >= measured[0], "{measured:?}");
    for oldest in [measured[1], measured[3]] {
        assert!((3_600.0..7_200.0).contains(&oldest), "{measured:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_has_to_read_what_is_printed() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let output = gateway.bash("$QUIPU merchant list | true");
    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    // A pipe takes 64 KiB, and nobody takes them out of it.
    let unread = "mkfifo unread && exec 9<>unread && head -c 65536 /dev/zero >&9
        timeout 20 $QUIPU payment show pay_1763683200000_abcdefghjkmn 2>&9; echo $?";
    assert_eq!(gateway.bash(unread).stdout.trim(), "2", "it ends by itself");
}

async fn a_start_that_cannot_be_is_explained(database: Database) {
    let gateway = Gateway::start(database).await;
    let taken = gateway.anonymous().base_url().trim_start_matches("http://").to_owned();
    let embedded = format!("sqlite://{}", gateway.data_folder().join("quipu.db").display());
    let nowhere = "sqlite:///nowhere/at/all.db";
    let dev = &["serve", "--dev"][..];
    let mut cases = vec![
        ("QUIPU__LISTEN", taken.as_str(), dev, taken.as_str()),
        ("QUIPU__DATABASE_URL", nowhere, dev, "/nowhere/at/all.db"),
        ("QUIPU__DATABASE_URL", nowhere, &["check"], "there is no database"),
        ("QUIPU__DATABASE_URL", "postgres://nobody:secret@127.0.0.1:1/none", &["migrate"], "connect"),
        ("QUIPU__DATABASE_URL", "postgres://nobody:secret@127.0.0.1:1/none?sslcart=x", &["check"], "sslcart"),
        (
            "QUIPU__DATABASE_URL",
            "postgres://nobody:secret@127.0.0.1:1/none?sslmode=x",
            &["check"],
            "database_url",
        ),
        ("QUIPU__LOG__LEVEL", "info", &["check"], "quipu migrate"),
    ];
    if database == Database::Sqlite {
        // Wherever its own data folder is: what counts is the database.
        cases.push(("QUIPU__DATABASE_URL", &embedded, dev, "another `quipu serve`"));
    }
    for (key, value, arguments, said) in cases {
        let output = gateway.run_elsewhere(&[(key, value)], arguments);
        explained(&output, said, arguments);
        assert!(!output.stderr.contains("secret"), "{}", output.stderr);
    }
}

async fn no_folder_is_made_in_vain(database: Database) {
    let gateway = Gateway::start(database).await;
    let first = match database {
        Database::Sqlite => "export QUIPU__DATABASE_URL=sqlite://$PWD/quipu.db",
        // Migrating an embedded database makes its folder.
        Database::Postgres => "quipu migrate",
    };
    let told = gateway.bash(&format!(
        "quipu() {{ ${{QUIPU%% *}} \"$@\" --data nowhere; }}
         {first} && QUIPU__MASTER_KEY=$(cat master.key) quipu merchant list && ! quipu serve && ! [ -e nowhere ]"
    ));
    assert_eq!(told.status, Some(0), "{told:?}");
    assert!(told.stderr.contains("there is no master key"), "{told:?}");
}

/// A new data folder with an embedded database from elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_master_key_is_not_replaced() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let told = gateway.bash(
        "quipu() { QUIPU__DATABASE_URL=sqlite://$PWD/copy.db ${QUIPU%% *} serve --dev --data elsewhere; }
         $QUIPU backup copy.db >&2 && ! quipu && ! [ -e elsewhere/master.key ]",
    );
    assert_eq!(told.status, Some(0), "{told:?}");
    assert!(told.stderr.contains("elsewhere/master.key is missing"), "{told:?}");
}

/// Refused in words, without a panic.
#[track_caller]
fn explained(output: &CommandOutput, said: &str, arguments: &[&str]) {
    let CommandOutput { status, stderr, .. } = output;
    assert!(!matches!(status, Some(0 | 1 | 124) | None), "{arguments:?}: {status:?}\n{stderr}");
    assert!(stderr.contains(said) && !stderr.contains("panicked"), "{arguments:?}: {stderr}");
}
