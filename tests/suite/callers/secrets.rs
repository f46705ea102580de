//! Secrets and customers' data stay out of the log, the errors and the database's files.

use std::{path::Path, process::Command};

use quipu_tests::{Database, Gateway, draft, on_both_databases, signature::SignedHeaders};
use reqwest::Method;
use serde_json::json;

on_both_databases!(planted_secrets_are_found_nowhere);

async fn planted_secrets_are_found_nowhere(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let key = merchant.issue(&json!({})).await["key"].as_str().expect("a key").to_owned();
    let api = gateway.anonymous().with_api_key(&key);
    let token =
        api.post_empty("/api/v1/auth/token").await.ok()["access_token"].as_str().expect("a token").to_owned();
    gateway.anonymous().with_bearer(&token).get("/api/v1/balance").await.ok();
    let webhook_secret =
        api.get(&format!("/api/v1/merchants/{}", merchant.id)).await.data()["default_webhook_secret"]
            .as_str()
            .expect("a secret")
            .to_owned();
    let (merchant_id, hmac_secret) =
        (gateway.credential("/v2/merchant_id"), gateway.credential("/v2/hmac_secret"));
    let path = "/api/v2/balance";
    let signed = SignedHeaders::now(&merchant_id, &hmac_secret, "GET", path, b"");
    gateway.anonymous().send(Method::GET, path, None, &signed.pairs()).await.ok();
    let hosted = draft::with(draft::deposit_mxn(100), "/type", json!("deposit_pp"));
    let page = api.create(&hosted).await.ok()["payment_page_url"].as_str().expect("a page").to_owned();
    let page_token = page.rsplit('/').next().expect("a token").split('?').next().expect("a token").to_owned();
    // Refusals, too, must not repeat what they refuse.
    let mut mistyped = key.clone();
    mistyped.push('x');
    let refusals = [
        gateway.anonymous().with_api_key(&mistyped).get("/api/v1/balance").await,
        gateway.anonymous().with_bearer(&format!("{token}x")).get("/api/v1/balance").await,
        gateway.anonymous().send(Method::GET, path, None, &signed.pairs()).await,
    ];
    let secrets = [
        ("API key", key.clone()),
        ("bearer token", token),
        ("webhook secret", webhook_secret),
        ("HMAC secret", hmac_secret),
        ("signature", signed.signature.clone()),
        ("operator token", gateway.credential("/operator_token")),
        ("page token", page_token),
    ];
    // Orderly, so that all of it is in the files.
    assert_eq!(gateway.terminate().await, Some(0));
    let stored = stored_bytes(&gateway);
    let log = gateway.log();
    for (name, secret) in &secrets {
        assert!(!log.contains(secret), "the {name} is in the log");
        assert!(!contains(&stored, secret.as_bytes()), "the {name} is in the database");
        for refusal in &refusals {
            assert!(!refusal.text.contains(secret), "the {name} is in an answer: {refusal}");
        }
    }
    assert!(!log.contains("ana@example.com") && !log.contains("Ana Pérez"), "a customer is in the log");
    // The search itself works: what must be stored is found.
    assert!(contains(&stored, b"ana@example.com"));
}

/// All the database holds: its files, or a dump of it.
fn stored_bytes(gateway: &Gateway) -> Vec<u8> {
    if let Some(url) = gateway.postgres_url() {
        let dump = Command::new("pg_dump").arg(url).output().expect("pg_dump comes with PostgreSQL");
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        return dump.stdout;
    }
    let files = std::fs::read_dir(gateway.data_folder()).expect("a data folder");
    files
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| is_database(path))
        .flat_map(|path| std::fs::read(path).expect("the file can be read"))
        .collect()
}

fn is_database(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("quipu.db"))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
