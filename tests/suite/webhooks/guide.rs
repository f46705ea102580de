//! The guide's own snippets, and other people's libraries, against deliveries of the running gateway.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use quipu_tests::{
    Database, Delivery, Gateway, Receiver, ScratchFolder, blocks_of, draft, eventually, python_with_tools,
};
use serde_json::json;

use super::{endpoint, guides_rust};

const GUIDE: &str = include_str!("../../../docs/WEBHOOKS.md");

/// The guide's snippet in a language, which is the first.
fn snippet(language: &str) -> String {
    blocks_of(GUIDE, language).into_iter().next().unwrap_or_else(|| panic!("the guide has no {language}"))
}

async fn one_delivery() -> (Gateway, String, Delivery) {
    let gateway = Gateway::start(Database::Sqlite).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&draft::deposit_mxn(100)).await;
    let delivery = receiver.wait_for("/a", 1).await.pop().expect("one");
    (gateway, made["secret"].as_str().expect("a secret").to_owned(), delivery)
}

/// Runs a program over a delivery, handed to it as JSON on its standard input, and answers what it prints.
fn run(program: &mut Command, secret: &str, delivery: &Delivery) -> String {
    let input = json!({ "secret": secret, "headers": delivery.headers, "body": delivery.body }).to_string();
    let program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let child = program.spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("{} cannot be run ({error}); `make test` installs it", program.get_program().display())
    });
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Each program must believe the delivery, and not one that was changed.
fn assert_verifies(name: &str, mut program: impl FnMut() -> Command, secret: &str, delivery: &Delivery) {
    assert_eq!(run(&mut program(), secret, delivery), "true", "{name}");
    let forged =
        Delivery { body: delivery.body.replace("payment.created", "payment.refunded"), ..delivery.clone() };
    assert_eq!(run(&mut program(), secret, &forged), "false", "{name}");
}

/// The guide's functions refuse what has no signature at all, rather than fail.
fn assert_refuses_the_unsigned(
    name: &str,
    mut program: impl FnMut() -> Command,
    secret: &str,
    delivery: &Delivery,
) {
    for missing in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut unsigned = delivery.clone();
        unsigned.headers.retain(|name, _| name != missing);
        assert_eq!(run(&mut program(), secret, &unsigned), "false", "{name} without {missing}");
    }
}

/// `webhook-id` as `Webhook-Id`.
fn as_cgi_names(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guides_snippets_verify_what_arrives() {
    let (_gateway, secret, delivery) = one_delivery().await;
    python_verifies(&secret, &delivery);
    javascript_verifies(&secret, &delivery);
    php_verifies(&secret, &delivery);
    rust_verifies(&secret, &delivery);
}

fn python_verifies(secret: &str, delivery: &Delivery) {
    let python = format!(
        "{}\nimport json, sys\ngiven = json.load(sys.stdin)\n\
         print(str(verify(given['secret'], given['headers'], given['body'].encode())).lower())",
        snippet("python")
    );
    let program = || {
        let mut command = Command::new("python3");
        command.args(["-c", &python]);
        command
    };
    assert_verifies("python", program, secret, delivery);
    assert_refuses_the_unsigned("python", program, secret, delivery);
}

fn javascript_verifies(secret: &str, delivery: &Delivery) {
    let javascript = format!(
        "{}\nconst given = JSON.parse(require('node:fs').readFileSync(0));\n\
         console.log(verify(given.secret, given.headers, Buffer.from(given.body)));",
        snippet("javascript")
    );
    let program = || {
        let mut command = Command::new("node");
        command.args(["-e", &javascript]);
        command
    };
    assert_verifies("javascript", program, secret, delivery);
    assert_refuses_the_unsigned("javascript", program, secret, delivery);
}

fn php_verifies(secret: &str, delivery: &Delivery) {
    let php = format!(
        "{}\n$given = json_decode(stream_get_contents(STDIN), true);\n\
         echo verify($given['secret'], $given['headers'], $given['body']) ? 'true' : 'false';",
        snippet("php")
    );
    let program = || {
        let mut command = Command::new("php");
        command.args(["-r", &php]);
        command
    };
    assert_verifies("php", program, secret, delivery);
    // Under CGI and FPM, getallheaders() makes names of the server's variables.
    let mut of_cgi = delivery.clone();
    of_cgi.headers =
        delivery.headers.iter().map(|(name, value)| (as_cgi_names(name), value.clone())).collect();
    assert_verifies("php", program, secret, &of_cgi);
    assert_refuses_the_unsigned("php", program, secret, delivery);
}

fn rust_verifies(secret: &str, delivery: &Delivery) {
    assert!(include_str!("guides_rust.rs").contains(&snippet("rust")), "the tests have another function");
    let headers = signature_of(delivery);
    assert!(guides_rust::believes(secret, &headers, delivery.body.as_bytes()));
    assert!(!guides_rust::believes(secret, &headers, b"{}"));
    for missing in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut unsigned = headers.clone();
        unsigned.remove(missing);
        assert!(!guides_rust::believes(secret, &unsigned, delivery.body.as_bytes()), "without {missing}");
    }
}

fn signature_of(delivery: &Delivery) -> http::HeaderMap {
    let mut headers = http::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, delivery.header(name).parse().expect("a value"));
    }
    headers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_libraries_verify_what_arrives() {
    let (_gateway, secret, delivery) = one_delivery().await;
    let theirs = standardwebhooks::Webhook::new(&secret).expect("a secret");
    let headers = signature_of(&delivery);
    theirs.verify(delivery.body.as_bytes(), &headers).expect("the Rust library believes it");
    assert!(theirs.verify(b"{}", &headers).is_err());

    let python = "import json, sys\nfrom standardwebhooks import Webhook, WebhookVerificationError\n\
                  given = json.load(sys.stdin)\n\
                  try:\n    Webhook(given['secret']).verify(given['body'], given['headers']); print('true')\n\
                  except WebhookVerificationError:\n    print('false')";
    let program = || {
        let mut command = python_with_tools();
        command.args(["-c", python]);
        command
    };
    assert_verifies("the Python library", program, &secret, &delivery);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listener_prints_and_verifies_what_arrives() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let account = merchant.api.get(&format!("/api/v1/merchants/{}", merchant.id)).await.data();
    let secret = account["default_webhook_secret"].as_str().expect("a secret");
    let printed = ScratchFolder::new();
    let path = printed.path().join("printed");
    let _listener = gateway.spawn_command(&["listen", "--port", "0", "--secret", secret], &path);
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    let address = eventually("the listener to listen", async || {
        Some(read().lines().next()?.strip_prefix("listening on ")?.to_owned())
    })
    .await;
    let mut draft = draft::deposit_mxn(100);
    draft["webhook_url"] = json!(format!("{address}/hook"));
    let id = merchant.create(&draft).await;
    eventually("both events to be printed", async || {
        let text = read();
        let verified = |name: &str| {
            text.lines().any(|line| line.starts_with(name) && line.ends_with("signature verifies"))
        };
        (verified("payment.created") && verified("payment.completed") && text.contains(&id)).then_some(())
    })
    .await;
}
