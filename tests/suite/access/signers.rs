//! The signers that `docs/SIGNING.md` shows, run as they stand there against the gateway.

use std::process::Command;

use quipu_tests::{CommandOutput, Database, Gateway, blocks_of, document, draft};
use serde_json::{Value, json};

use super::people::SigningMerchant;

const DOCUMENT: &str = "docs/SIGNING.md";

/// What the document calls the language, and who runs it when it is handed the code.
const LANGUAGES: [(&str, &[&str]); 4] = [
    ("python", &["python3", "-c"]),
    ("javascript", &["node", "-e"]),
    ("php", &["php", "-r"]),
    ("sh", &["sh", "-c"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_signer_of_the_document_reads_a_balance() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = SigningMerchant::onboard(&gateway).await;
    merchant.fund("MXN", 4_711).await;
    for (language, runner) in LANGUAGES {
        let code = signer(language);
        let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 15, "the {language} signer has {lines} lines");
        // Twice: a signer that never makes a fresh nonce fails the second time.
        for _ in 0..2 {
            let printed = run(runner, &code, gateway.anonymous().base_url(), &merchant);
            let answer = printed.ok();
            assert!(answer.contains("\"4711\""), "{language} printed {answer:?}");
        }
    }
}

/// The signer as the document says to change it for a call with a body.
fn with_a_body(language: &str, code: &str, body: &str) -> String {
    let (quoted, headers, with_type) = match language {
        "python" => (
            ("b\"\"", format!("b'{body}'")),
            "headers = {",
            "headers = {\"Content-Type\": \"application/json\", ",
        ),
        "javascript" => (
            ("\"\", \"GET\"", format!("'{body}', \"GET\"")),
            "headers = {",
            "headers = { \"Content-Type\": \"application/json\",",
        ),
        "php" => (
            ("'', 'GET'", format!("'{body}', 'GET'")),
            "$headers = [",
            "$headers = ['Content-Type: application/json', ",
        ),
        _ => (
            ("body=''", format!("body='{body}'")),
            "-H \"X-Merchant-Id",
            "-H 'Content-Type: application/json' -H \"X-Merchant-Id",
        ),
    };
    let changes = [
        ("/api/v2/balance?currency=MXN", "/api/v2/payments"),
        (quoted.0, &quoted.1),
        ("GET", "POST"),
        (headers, with_type),
    ];
    changes.into_iter().fold(code.to_owned(), |code, (from, to)| {
        assert_eq!(code.matches(from).count(), 1, "{language}: {from} in {code}");
        code.replace(from, to)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_signer_of_the_document_sends_a_body() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = SigningMerchant::onboard(&gateway).await;
    for (number, (language, runner)) in (0..).zip(LANGUAGES) {
        let body = draft::with(draft::deposit_mxn(1_000 + number), "/customer/name", json!("Ana Perez"));
        let body = body.to_string();
        let code = with_a_body(language, &signer(language), &body);
        let printed = run(runner, &code, gateway.anonymous().base_url(), &merchant);
        let answer = printed.ok();
        assert!(answer.contains("\"transaction_id\""), "{language} printed {answer:?}");
    }
}

#[test]
fn the_worked_examples_are_the_published_vectors() {
    let (document, vectors) = (document(DOCUMENT), include_str!("../../vectors/hmac_v2.json"));
    let vectors: Value = serde_json::from_str(vectors).expect("JSON");
    let known = |member: &str, text: &str| {
        vectors["vectors"].as_array().expect("a list").iter().any(|vector| vector[member] == text)
    };
    let shown = |prefix: &str| -> Vec<&str> {
        document.lines().filter_map(|line| line.split_once(prefix).map(|(_, rest)| rest)).collect()
    };
    let signatures: Vec<_> = shown("X-Signature: hmac_sha256=")
        .into_iter()
        .filter(|rest| rest.len() == 64 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .collect();
    assert!(!signatures.is_empty(), "no worked example");
    for signature in signatures {
        assert!(known("signature", &format!("hmac_sha256={signature}")), "{signature} is not a vector's");
    }
    for canonical in document.lines().filter(|line| line.starts_with("v1.1")) {
        assert!(known("canonical", canonical), "{canonical} is not a vector's");
    }
}

fn run(runner: &[&str], code: &str, url: &str, merchant: &SigningMerchant) -> CommandOutput {
    let code = code.trim_start().strip_prefix("<?php").unwrap_or(code);
    let mut command = Command::new(runner[0]);
    command.args(&runner[1..]).arg(code);
    command.env("QUIPU_URL", url).env("QUIPU_MERCHANT_ID", merchant.id.to_string());
    command.env("QUIPU_HMAC_SECRET", &merchant.signer.secret).env("no_proxy", "127.0.0.1");
    command.output().unwrap_or_else(|error| panic!("{} cannot be run: {error}", runner[0])).into()
}

/// The one fenced block of a language.
fn signer(language: &str) -> String {
    let mut signers = blocks_of(&document(DOCUMENT), language);
    assert_eq!(signers.len(), 1, "{language} signers in SIGNING.md");
    signers.remove(0)
}
