//! What must not be read in a log line, an answer or a database dump (docs/DESIGN.md, "Callers").
//!
//! The scenario uses the gateway with known secrets, well and badly, at the most talkative log level there is, and then
//! searches everything it left behind.

mod outward;

use std::{path::Path, process::Command};

use quipu_tests::{
    Database, Gateway, Merchant, Setup, draft, http_client, on_both_databases, provider::Provider,
    signature::fresh_nonce,
};
use reqwest::Method;
use serde_json::{Value, json};

use self::outward::{use_provider, use_tickets, use_webhooks};
use super::people::{SigningMerchant, text};

const EMAIL: &str = "planted.customer@secrets.example";
const NAME: &str = "Plantada Zacatecas";
const PHONE: &str = "+529998887766";
const ACCOUNT: &str = "0000003100010000099999";
/// What is said about a customer in a ticket, and the name of the file that is sent with it.
const SAID: &str = "her account was plundered";
const FILE: &str = "plantada-passport.pdf";
/// A part of a webhook's address by which its owner knows who calls.
const ADDRESS_TOKEN: &str = "planted-in-the-address";

on_both_databases!(no_secret_is_left_in_the_clear);

/// Secrets must be nowhere; what merchants and their customers say may be in the database, where it belongs, but in
/// no log.
#[derive(Default)]
struct Planted {
    secrets: Vec<(&'static str, String)>,
    said: Vec<(&'static str, String)>,
}

impl Planted {
    fn secret(&mut self, what: &'static str, text: impl Into<String>) {
        let text = text.into();
        assert!(text.len() >= 16, "{what} is too short to be searched for");
        self.secrets.push((what, text));
    }
}

async fn no_secret_is_left_in_the_clear(database: Database) {
    let provider = Provider::start().await;
    let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "300ms,500ms");
    let setup = setup.set("WEBHOOKS__RETRY_SCHEDULE", "100ms");
    let mut gateway = setup.set("LOG__LEVEL", "trace").set("LOG__FORMAT", "json").start().await;
    let mut planted = Planted::default();
    for (what, value) in [
        ("a customer's name", NAME),
        ("a customer's e-mail", EMAIL),
        ("a customer's phone", PHONE),
        ("a customer's account", ACCOUNT),
        ("the text of a ticket", SAID),
        ("the name of a file", FILE),
        ("the address of a webhook", ADDRESS_TOKEN),
    ] {
        planted.said.push((what, value.to_owned()));
    }
    planted.secret("operator token", gateway.credential("/operator_token"));
    use_version_1(&gateway, &mut planted).await;
    use_version_2(&gateway, &mut planted).await;
    use_webhooks(&gateway, &mut planted).await;
    use_provider(&gateway, &provider, &mut planted).await;
    use_tickets(&gateway, &mut planted).await;
    provoke(&gateway, &mut planted).await;

    let dump = database_text(&gateway);
    assert_eq!(gateway.terminate().await, Some(0));
    let log = gateway.log();
    assert!(log.lines().count() > 10, "no log to search:\n{log}");
    let printed = gateway.stdout();
    for (what, secret) in &planted.secrets {
        must_lack(&log, what, secret);
        assert!(!dump.contains(secret), "{what} in the database");
        // What `--dev` prints on purpose is the demo merchants' and the operator's.
        assert!(*what == "operator token" || !printed.contains(secret), "{what} printed");
    }
    for (what, value) in &planted.said {
        must_lack(&log, what, value);
        assert!(dump.contains(value), "the scenario no longer says {what}");
        assert!(!printed.contains(value), "{what} printed");
    }
    if database == Database::Sqlite {
        // What is left after the last commit was folded in: freed pages are searched too.
        let closed = database_text(&gateway);
        let left = planted.secrets.iter().find(|(_, secret)| closed.contains(secret));
        assert!(left.is_none(), "{:?} in the closed database", left.map(|(what, _)| what));
    }
}

/// Every endpoint of version 1, and the operator's view of it.
async fn use_version_1(gateway: &Gateway, planted: &mut Planted) {
    let merchant = gateway.merchant().await;
    let key = text(&merchant.issue(&json!({})).await, "key");
    let api = gateway.anonymous().with_api_key(&key);
    // The checked text without its prefix, in case the prefix is kept beside it.
    planted.secret("API key", key[11..].to_owned());
    merchant.fund("ARS", 10_000).await;

    let token = text(&api.post("/api/v1/auth/token", &json!({})).await.ok(), "access_token");
    planted.secret("signature of a token", token.rsplit('.').next().expect("a signature"));
    planted.secret("claims of a token", token.split('.').nth(1).expect("claims"));
    let bearer = gateway.anonymous().with_bearer(&token);
    bearer.get("/api/v1/payments").await.ok();

    let detail = api.get(&format!("/api/v1/merchants/{}", merchant.id)).await.data();
    let secret = text(&detail, "default_webhook_secret");
    planted.secret("webhook secret", secret.strip_prefix("whsec_").expect("its prefix"));

    create_payments(&merchant, &key, planted).await;
    visit_pages(gateway, &merchant, planted).await;
    api.get(&format!("/api/v1/payments?merchant_reference={EMAIL}")).await.ok();
    api.get("/api/v1/balance/all").await.ok();
    gateway.operator().get(&merchant.operator_path("/api-keys")).await.ok();
    gateway.operator().get("/operator/v1/audit-log").await.ok();
}

/// Payments of all kinds, with kept answers, hosted pages and a customer.
async fn create_payments(merchant: &Merchant, key: &str, planted: &mut Planted) {
    let api = merchant.api.with_api_key(key);
    let customer = json!({ "name": NAME, "email": EMAIL, "phone": PHONE });
    let page = draft::with(draft::deposit_mxn(70), "/type", json!("deposit_pp"));
    let withdrawal = draft::with(draft::withdrawal_ars(300), "/payout/bank_account", json!(ACCOUNT));
    for body in [draft::deposit_mxn(70), page, withdrawal] {
        let body = draft::with(body, "/customer", customer.clone());
        let idempotency_key = fresh_nonce();
        for _ in 0..2 {
            let headers = [("Idempotency-Key", idempotency_key.as_str())];
            let made = api.post_with("/api/v1/payments", &body, &headers).await.ok();
            plant_page(&made, planted);
        }
        let made = text(&api.create(&with_new_reference(body)).await.ok(), "transaction_id");
        plant_page(&merchant.wait_for(&made, "completed").await, planted);
    }
}

/// What payers ask of hosted pages: every part of one that waits for a transfer, and the form of one that waits for its
/// recipient, filled in wrongly and well.
async fn visit_pages(gateway: &Gateway, merchant: &Merchant, planted: &mut Planted) {
    let visitor = gateway.anonymous();
    let form_encoded = [("content-type", "application/x-www-form-urlencoded")];
    let deposit = draft::with(draft::steered(draft::deposit_mxn(70), "stay"), "/type", json!("deposit_pp"));
    let withdrawal = draft::without(draft::withdrawal_ars(300), "/payout");
    let withdrawal = draft::with(withdrawal, "/type", json!("withdrawal_pp"));
    for (body, waits_for_recipient) in [(deposit, false), (withdrawal, true)] {
        let made = merchant.api.create(&body).await.ok();
        plant_page(&made, planted);
        let url = made["payment_page_url"].as_str().expect("a page");
        let path = url.strip_prefix(visitor.base_url()).expect("an address of the gateway");
        for part in ["", "?lang=es", "/details", "/nothing"] {
            let expected = if part == "/nothing" { 404 } else { 200 };
            assert_eq!(visitor.get(&format!("{path}{part}")).await.status, expected, "{part}");
        }
        let mut stream = http_client().get(format!("{url}/events")).send().await.expect("an answer");
        assert!(stream.chunk().await.expect("a stream").is_some(), "how it stands");
        let form = format!("{path}/recipient");
        for (fields, taken) in [
            ("iban=x&recipient_name=".to_owned() + NAME, false),
            (format!("recipient_name=Ana&bank_account={ACCOUNT}"), waits_for_recipient),
        ] {
            let answer = visitor.send(Method::POST, &form, Some(fields.into_bytes()), &form_encoded).await;
            assert_eq!(answer.status < 400, taken, "{answer}");
        }
    }
}

fn with_new_reference(body: Value) -> Value {
    draft::with(body, "/merchant_reference", json!(draft::reference()))
}

fn plant_page(payment: &Value, planted: &mut Planted) {
    if let Some(url) = payment["payment_page_url"].as_str() {
        planted.secret("token of a hosted page", url.rsplit('/').next().expect("a token"));
    }
}

/// Signed calls, good and refused.
async fn use_version_2(gateway: &Gateway, planted: &mut Planted) {
    let (merchant, caller) = (SigningMerchant::onboard(gateway).await, gateway.anonymous());
    planted.secret("HMAC secret", merchant.signer.secret.strip_prefix("qp_hmac_").expect("its prefix"));
    let customer = json!({ "name": NAME, "email": EMAIL, "phone": PHONE });
    let good =
        merchant.signer.post("/api/v2/payments", &draft::with(draft::deposit_mxn(7), "/customer", customer));
    let bad = good.clone().sent_to("/api/v2/payments?altered=1");
    let token = merchant.signer.post("/api/v2/auth/token", &json!({}));
    for request in [&good, &token, &bad, &good] {
        let signature = request.header("X-Signature");
        planted.secret("signature", signature.strip_prefix("hmac_sha256=").expect("its prefix"));
        let answer = request.send(&caller).await;
        if let Some(token) = answer.json()["access_token"].as_str() {
            planted.secret("token", token);
        }
    }
    let path = merchant.path("/switch");
    let again = gateway.operator().post(&path, &json!({ "api_version": "v1" })).await;
    again.ok();
    let switched = gateway.operator().post(&path, &json!({ "api_version": "v2" })).await.data();
    for credential in switched["credentials"].as_array().expect("credentials") {
        let secret = text(credential, "secret");
        planted.secret("HMAC secret of a switch", secret.strip_prefix("qp_hmac_").expect("its prefix"));
    }
}

/// Everything that goes wrong with secrets and customers in the request.
async fn provoke(gateway: &Gateway, planted: &mut Planted) {
    let merchant = gateway.merchant().await;
    let anonymous = gateway.anonymous();
    let key = text(&merchant.issue(&json!({})).await, "key");
    planted.secret("second API key", key[11..].to_owned());
    // A near miss is as good as the key to whoever reads it.
    let mistyped = format!("{}!", &key[..key.len() - 1]);
    planted.secret("mistyped API key", mistyped[11..mistyped.len() - 1].to_owned());
    let mut answers = vec![
        anonymous.with_api_key(&mistyped).get("/api/v1/balance").await,
        anonymous.with_bearer(&key).get("/api/v1/balance").await,
        anonymous.with_bearer(&key).get("/operator/v1/merchants").await,
        anonymous.get(&format!("/api/v1/balance?api_key={key}")).await,
        anonymous.get(&format!("/api/v1/{key}")).await,
    ];
    let api = anonymous.with_api_key(&key);
    let half = format!(r#"{{"amount": 1.5, "customer": {{"email": "{EMAIL}", "name": "{NAME}"}}, "#);
    answers.push(api.post_bytes("/api/v1/payments", half).await);
    let mut wrong = draft::deposit_mxn(7);
    wrong["currency"] = json!(EMAIL);
    wrong["customer"] = json!({ "email": format!("{EMAIL} {PHONE}"), "name": NAME });
    wrong["payout"] = json!({ "bank_account": ACCOUNT });
    answers.push(api.create(&wrong).await);
    answers.push(api.get(&format!("/api/v1/payments?status={EMAIL}")).await);
    answers.push(api.get(&format!("/api/v1/payments/{EMAIL}")).await);
    let large = vec![b' '; 2 * 1024 * 1024];
    answers.extend(api.try_send(Method::POST, "/api/v1/payments", Some(large), &[]).await.ok());
    for answer in answers {
        assert!((400..500).contains(&answer.status), "{} {}", answer.status, answer.text);
        let told = planted.secrets.iter().find(|(_, secret)| answer.text.contains(secret));
        assert!(told.is_none(), "{:?} in an answer: {}", told.map(|(what, _)| what), answer.text);
        for word in ["SELECT", "INSERT", "sqlite", "postgres", "panicked", ".rs:"] {
            assert!(!answer.text.contains(word), "{word:?} in an answer: {}", answer.text);
        }
    }
}

/// The whole database, the file with its write-ahead log or a dump, as a text: what is searched for is ASCII.
fn database_text(gateway: &Gateway) -> String {
    String::from_utf8_lossy(&database_bytes(gateway)).into_owned()
}

fn database_bytes(gateway: &Gateway) -> Vec<u8> {
    let Some(url) = gateway.postgres_url() else {
        let folder = gateway.data_folder();
        let files = ["quipu.db", "quipu.db-wal"].map(|name| folder.join(name));
        return files.iter().filter(|file| file.exists()).flat_map(|file| read(file)).collect();
    };
    let output = Command::new("pg_dump").arg(url).output().expect("pg_dump can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Neither the text itself may be in the log, nor its bytes, as a driver writes what it sends.
fn must_lack(log: &str, what: &str, needle: &str) {
    let bytes = format!("{:?}", needle.as_bytes());
    let bytes = bytes.trim_matches(['[', ']']);
    let line = log.lines().find(|line| line.contains(needle) || line.contains(bytes));
    assert!(line.is_none(), "{what} in the log:\n{}", line.unwrap_or_default());
}
