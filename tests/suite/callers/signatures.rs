//! Version 2: requests signed by HMAC (specification, "HMAC signing").

use quipu_tests::{
    Answer, Client, Database, Gateway, Table, draft, on_both_databases,
    signature::{SignedHeaders, unix_seconds},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_both_databases!(
    the_four_endpoints_answer_signed_requests,
    each_failure_has_its_code,
    timestamps_and_nonces_have_bounds,
    path_query_and_body_are_signed_as_sent,
    a_nonce_is_used_once_and_only_by_a_good_signature,
    of_identical_requests_exactly_one_is_accepted,
    used_nonces_survive_a_kill,
    a_switch_revokes_keys_and_issues_credentials,
    credentials_overlap_for_rotation,
);

/// The demo merchant of version 2, by its parts.
struct Signer {
    anonymous: Client,
    merchant_id: String,
    secret: String,
}

impl Signer {
    fn of(gateway: &Gateway) -> Self {
        Self {
            anonymous: gateway.anonymous(),
            merchant_id: gateway.credential("/v2/merchant_id"),
            secret: gateway.credential("/v2/hmac_secret"),
        }
    }

    fn sign(&self, method: &Method, path: &str, body: &[u8]) -> SignedHeaders {
        SignedHeaders::now(&self.merchant_id, &self.secret, method.as_str(), path, body)
    }

    fn sign_at(&self, timestamp: i64, nonce: &str, path: &str) -> SignedHeaders {
        SignedHeaders::at(&timestamp.to_string(), nonce, &self.merchant_id, &self.secret, "GET", path, b"")
    }

    async fn get(&self, path: &str, headers: &SignedHeaders) -> Answer {
        self.anonymous.send(Method::GET, path, None, &headers.pairs()).await
    }
}

type Spoil = fn(&mut SignedHeaders);

const BALANCE: &str = "/api/v2/balance?currency=MXN";

async fn the_four_endpoints_answer_signed_requests(database: Database) {
    let gateway = Gateway::start(database).await;
    let v2 = gateway.v2();
    let created = v2.create(&draft::steered(draft::deposit_mxn(100), "stay")).await.ok();
    let id = created["transaction_id"].as_str().expect("a string");
    let payment = v2.get(&format!("/api/v2/payments/{id}")).await.data();
    assert_eq!(payment["transaction_id"], id);
    let balance = v2.get("/api/v2/balance?currency=MXN&balance_type=main").await.ok();
    assert_eq!(balance["merchant_id"].to_string(), gateway.credential("/v2/merchant_id"));
    assert!(v2.get("/api/v2/balance/all").await.ok()["balances"].is_array());
    let path = "/api/v2/payments/pay_1763683200000_abcdefghjkmn";
    v2.get(path).await.refused(404, "PAYMENT_NOT_FOUND");
    v2.create(&json!({})).await.invalid("amount");
}

async fn each_failure_has_its_code(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let signer = Signer::of(&gateway);
    let mut table = Table::new();
    let good = || signer.sign(&Method::GET, BALANCE, b"");
    for missing in 0..5 {
        let headers = good();
        let pairs: Vec<_> = headers
            .pairs()
            .into_iter()
            .enumerate()
            .filter(|(at, _)| *at != missing)
            .map(|(_, pair)| pair)
            .collect();
        let answer = signer.anonymous.send(Method::GET, BALANCE, None, &pairs).await;
        table.refused(format!("without {}", headers.pairs()[missing].0), &answer, 401, "SIGNATURE_MISSING");
    }
    let spoil: [(&str, Spoil, &str); 9] = [
        (
            "a wrong digest",
            |it| it.signature = format!("hmac_sha256={}", "0".repeat(64)),
            "SIGNATURE_INVALID",
        ),
        ("no prefix", |it| it.signature = it.signature.replace("hmac_sha256=", ""), "SIGNATURE_INVALID"),
        ("capitals", |it| it.signature = it.signature.to_uppercase(), "SIGNATURE_INVALID"),
        ("a short digest", |it| it.signature.truncate(40), "SIGNATURE_INVALID"),
        ("another version", |it| it.version = "v2".into(), "SIGNATURE_INVALID"),
        ("an unknown merchant", |it| it.merchant_id = "999999".into(), "SIGNATURE_INVALID"),
        ("a merchant that is no number", |it| it.merchant_id = "x".into(), "SIGNATURE_INVALID"),
        ("another nonce", |it| it.nonce.push('x'), "SIGNATURE_INVALID"),
        ("no timestamp", |it| it.timestamp = "soon".into(), "TIMESTAMP_OUT_OF_WINDOW"),
    ];
    for (name, spoil, code) in spoil {
        let mut headers = good();
        spoil(&mut headers);
        table.refused(name, &signer.get(BALANCE, &headers).await, 401, code);
    }
    // Keys belong to version 1, signatures to version 2, and a merchant to one of them.
    table.refused("a key", &merchant.api.get("/api/v2/balance").await, 401, "SIGNATURE_MISSING");
    let mut headers = good();
    headers.merchant_id = merchant.id.to_string();
    table.refused(
        "a merchant of version 1",
        &signer.get(BALANCE, &headers).await,
        401,
        "API_VERSION_MISMATCH",
    );
    table.accepted("unspoilt", &signer.get(BALANCE, &good()).await);
    table.finish();
}

async fn timestamps_and_nonces_have_bounds(database: Database) {
    let gateway = Gateway::start(database).await;
    let signer = Signer::of(&gateway);
    let mut table = Table::new();
    // A second or two may pass on the way; the exact bound is proved with a clock that stands still.
    for (offset, accepted) in [(-295, true), (295, true), (-301, false), (305, false), (-100_000, false)] {
        let headers = signer.sign_at(unix_seconds() + offset, &draft::reference(), BALANCE);
        let answer = signer.get(BALANCE, &headers).await;
        if accepted {
            table.accepted(offset, &answer);
        } else {
            table.refused(offset, &answer, 401, "TIMESTAMP_OUT_OF_WINDOW");
        }
    }
    for (length, accepted) in [(7, false), (8, true), (128, true), (129, false)] {
        let nonce = "n".repeat(length);
        let answer = signer.get(BALANCE, &signer.sign_at(unix_seconds(), &nonce, BALANCE)).await;
        let verdict =
            if answer.status == if accepted { 200 } else { 401 } { Ok(()) } else { Err(answer.to_string()) };
        table.note(format!("a nonce of {length}"), verdict);
    }
    table.finish();
}

async fn path_query_and_body_are_signed_as_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let signer = Signer::of(&gateway);
    let escaped = "/api/v2/balance?balance_type=main&currency=%4DXN";
    let headers = signer.sign(&Method::GET, escaped, b"");
    assert_eq!(signer.get(escaped, &headers).await.ok()["currency"], "MXN");
    let plain = "/api/v2/balance?balance_type=main&currency=MXN";
    let headers = signer.sign(&Method::GET, escaped, b"");
    signer.get(plain, &headers).await.refused(401, "SIGNATURE_INVALID");
    let body = draft::deposit_mxn(100).to_string().into_bytes();
    let path = "/api/v2/payments";
    let spaced = [b" ".as_slice(), &body].concat();
    let headers = signer.sign(&Method::POST, path, &body);
    let answer = signer.anonymous.send(Method::POST, path, Some(spaced), &headers.pairs()).await;
    answer.refused(401, "SIGNATURE_INVALID");
    let headers = signer.sign(&Method::POST, path, &body);
    signer.anonymous.send(Method::POST, path, Some(body), &headers.pairs()).await.ok();
}

async fn a_nonce_is_used_once_and_only_by_a_good_signature(database: Database) {
    let gateway = Gateway::start(database).await;
    let signer = Signer::of(&gateway);
    let headers = signer.sign(&Method::GET, BALANCE, b"");
    let mut spoilt = headers.clone();
    spoilt.signature = format!("hmac_sha256={}", "0".repeat(64));
    signer.get(BALANCE, &spoilt).await.refused(401, "SIGNATURE_INVALID");
    // The failed attempt has not used the nonce up.
    signer.get(BALANCE, &headers).await.ok();
    signer.get(BALANCE, &headers).await.refused(401, "NONCE_REUSED");
    let again = signer.sign_at(unix_seconds(), &headers.nonce, BALANCE);
    signer.get(BALANCE, &again).await.refused(401, "NONCE_REUSED");
    // A creation that is refused for another reason has used its nonce as well.
    let body = json!({ "amount": 0 }).to_string().into_bytes();
    let headers = signer.sign(&Method::POST, "/api/v2/payments", &body);
    let send = async || {
        signer.anonymous.send(Method::POST, "/api/v2/payments", Some(body.clone()), &headers.pairs()).await
    };
    send().await.invalid("amount");
    send().await.refused(401, "NONCE_REUSED");
}

async fn of_identical_requests_exactly_one_is_accepted(database: Database) {
    let gateway = Gateway::start(database).await;
    let mut nodes = vec![gateway.anonymous()];
    let other = match database {
        Database::Postgres => Some(gateway.another_node().await),
        Database::Sqlite => None,
    };
    nodes.extend(other.iter().map(Gateway::anonymous));
    let signer = Signer::of(&gateway);
    let body = draft::deposit_mxn(100).to_string().into_bytes();
    for (method, path, body) in [(Method::POST, "/api/v2/payments", body), (Method::GET, BALANCE, Vec::new())]
    {
        let headers = signer.sign(&method, path, &body);
        let mut sent = JoinSet::new();
        for one in 0..64 {
            let (node, headers, method, body) =
                (nodes[one % nodes.len()].clone(), headers.clone(), method.clone(), body.clone());
            let body = (!body.is_empty()).then_some(body);
            sent.spawn(async move { node.send(method, path, body, &headers.pairs()).await });
        }
        let (accepted, refused): (Vec<_>, Vec<_>) =
            sent.join_all().await.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(accepted.len(), 1, "{path}");
        for answer in refused {
            answer.refused(401, "NONCE_REUSED");
        }
    }
}

async fn used_nonces_survive_a_kill(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let signer = Signer::of(&gateway);
    let (used, unused) = (signer.sign(&Method::GET, BALANCE, b""), signer.sign(&Method::GET, BALANCE, b""));
    signer.get(BALANCE, &used).await.ok();
    gateway.kill();
    gateway.restart().await;
    let signer = Signer::of(&gateway);
    signer.get(BALANCE, &used).await.refused(401, "NONCE_REUSED");
    signer.get(BALANCE, &unused).await.ok();
}

async fn a_switch_revokes_keys_and_issues_credentials(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 700).await;
    let switched = gateway
        .operator()
        .post(&merchant.operator_path("/switch"), &json!({ "api_version": "v2" }))
        .await
        .data();
    merchant.api.get("/api/v1/balance").await.refused(401, "API_VERSION_MISMATCH");
    let credentials = switched["credentials"].as_array().expect("a list");
    let of = |environment: &str| -> &Value {
        credentials
            .iter()
            .find(|credential| credential["environment"] == environment)
            .expect("one for each environment")
    };
    let signed = |environment: &str| {
        gateway
            .anonymous()
            .with_hmac(&merchant.id.to_string(), of(environment)["secret"].as_str().expect("a secret"))
    };
    // The credential that verifies selects the environment.
    assert_eq!(signed("test").get(BALANCE).await.ok()["available_amount"], "700");
    assert_eq!(signed("live").get(BALANCE).await.ok()["available_amount"], "0");
    // A key left over from version 1 would open nothing.
    let issued = gateway
        .operator()
        .post(&merchant.operator_path("/api-keys"), &json!({ "environment": "test", "name": "late" }))
        .await;
    if issued.status == 200 {
        let key = gateway.anonymous().with_api_key(issued.data()["key"].as_str().expect("a key"));
        key.get("/api/v1/balance").await.refused(401, "API_VERSION_MISMATCH");
    }
}

async fn credentials_overlap_for_rotation(database: Database) {
    let gateway = Gateway::start(database).await;
    let id = gateway.credential("/v2/merchant_id");
    let operator = gateway.operator();
    let path = format!("/operator/v1/merchants/{id}/hmac-credentials");
    let body = json!({ "environment": "test" });
    let second = operator.post(&path, &body).await.data();
    let secret = second["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("qp_hmac_") && secret.len() == 8 + 43, "{}", secret.len());
    operator.post(&path, &body).await.refused(400, "LIMIT_REACHED");
    gateway.v2().get(BALANCE).await.ok();
    let new = gateway.anonymous().with_hmac(&id, secret);
    new.get(BALANCE).await.ok();
    let credential = &second["credential_id"];
    let credential = credential.as_str().map_or_else(|| credential.to_string(), str::to_owned);
    operator.delete(&format!("{path}/{credential}")).await.ok();
    new.get(BALANCE).await.refused(401, "SIGNATURE_INVALID");
    gateway.v2().get(BALANCE).await.ok();
}
