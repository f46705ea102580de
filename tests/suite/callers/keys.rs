//! API keys: environments, scopes and aliases, revocation, prefixes (specification, "Authentication").

use std::time::Duration;

use quipu_tests::{Database, Gateway, Table, draft, eventually, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

on_both_databases!(
    each_endpoint_asks_for_its_scope,
    unknown_and_old_keys_are_told_apart,
    several_keys_live_side_by_side_until_revoked,
    an_expired_key_is_refused,
    a_suspended_merchant_is_refused,
    the_prefix_selects_the_environment,
);

async fn each_endpoint_asks_for_its_scope(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let payment = merchant.create(&draft::steered(draft::deposit_mxn(100), "stay")).await;
    let id = merchant.id;
    let endpoints: Vec<(Method, String, Option<Value>, &[&str])> = vec![
        (Method::POST, "/api/v1/payments".into(), Some(draft::deposit_mxn(1)), &["payments.create"]),
        (Method::GET, "/api/v1/payments".into(), None, &["payments.read", "payments.view"]),
        (Method::GET, format!("/api/v1/payments/{payment}"), None, &["payments.read", "payments.view"]),
        (Method::POST, format!("/api/v1/payments/{payment}/cancel"), None, &["payments.cancel"]),
        (Method::GET, "/api/v1/payments/methods".into(), None, &["payments.methods"]),
        (Method::POST, "/api/v1/payments/methods/validate".into(), Some(json!({})), &["payments.methods"]),
        (Method::GET, "/api/v1/balance".into(), None, &["balance.read", "balance.view"]),
        (Method::GET, "/api/v1/balance/all".into(), None, &["balance.read", "balance.view"]),
        (Method::GET, format!("/api/v1/merchants/{id}/balance"), None, &["balance.read", "balance.view"]),
        (Method::GET, format!("/api/v1/merchants/{id}/balance/all"), None, &["balance.read", "balance.view"]),
        (Method::GET, format!("/api/v1/merchants/{id}"), None, &["webhooks.read", "webhooks.view"]),
    ];
    let scopes = [
        "payments.create",
        "payments.read",
        "payments.view",
        "payments.cancel",
        "payments.methods",
        "webhooks.create",
        "webhooks.read",
        "webhooks.view",
        "webhooks.update",
        "webhooks.delete",
        "balance.read",
        "balance.view",
        "tickets.create",
        "tickets.read",
        "tickets.update",
    ];
    let mut table = Table::new();
    for scope in scopes {
        let key = merchant.key(&json!({ "scopes": [scope] })).await;
        for (method, path, body, granting) in &endpoints {
            let body = body.as_ref().map(|body| draft_again(body).to_string().into_bytes());
            let answer = key.send(method.clone(), path, body, &[]).await;
            let row = format!("{method} {path} with {scope}");
            if granting.contains(&scope) {
                // Granted: whatever comes of it is not for want of a scope.
                table.note(row, if answer.status == 403 { Err(answer.to_string()) } else { Ok(()) });
            } else {
                table.refused(row, &answer, 403, "SCOPE_MISSING");
            }
        }
    }
    table.finish();
}

/// The same body with a reference of its own, where it has one.
fn draft_again(body: &Value) -> Value {
    let mut body = body.clone();
    if body.get("merchant_reference").is_some() {
        body["merchant_reference"] = json!(draft::reference());
    }
    body
}

async fn unknown_and_old_keys_are_told_apart(database: Database) {
    let gateway = Gateway::start(database).await;
    let ask = |key: &str| gateway.anonymous().with_api_key(key);
    gateway.anonymous().get("/api/v1/balance").await.refused(401, "API_KEY_MISSING");
    let good = gateway.credential("/v1/api_key");
    let mut mistyped = good.clone();
    let last = mistyped.pop().expect("a key has characters");
    mistyped.push(if last == 'a' { 'b' } else { 'a' });
    for key in [mistyped.as_str(), "qp_test_sk_", "sk_live_123", &good[..good.len() - 1], &format!("{good}0")]
    {
        ask(key).get("/api/v1/balance").await.refused(401, "API_KEY_INVALID");
    }
    let rest = good.trim_start_matches("qp_test_sk_");
    for prefix in ["qp_sandbox_sk_", "qp_live_", "qp_live_sk_"] {
        ask(&format!("{prefix}{rest}")).get("/api/v1/balance").await.refused(401, "API_KEY_PREFIX_REJECTED");
    }
    // A test key under the prefix of production is no key at all.
    ask(&format!("qp_prod_sk_{rest}")).get("/api/v1/balance").await.refused(401, "API_KEY_INVALID");
    ask(&good).get("/api/v1/balance").await.ok();
}

async fn several_keys_live_side_by_side_until_revoked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let issued = merchant.issue(&json!({ "name": "second" })).await;
    let second = gateway.anonymous().with_api_key(issued["key"].as_str().expect("the key is shown once"));
    second.get("/api/v1/balance").await.ok();
    merchant.api.get("/api/v1/balance").await.ok();
    let listed = gateway.operator().get(&merchant.operator_path("/api-keys")).await;
    assert_eq!(listed.data().as_array().expect("a list").len(), 2);
    assert!(!listed.text.contains(issued["key"].as_str().expect("a string")), "the key is shown once only");
    let path = merchant.operator_path(&format!(
        "/api-keys/{}",
        issued["key_id"].as_str().map_or_else(|| issued["key_id"].to_string(), str::to_owned,)
    ));
    gateway.operator().delete(&path).await.ok();
    second.get("/api/v1/balance").await.refused(401, "API_KEY_REVOKED");
    merchant.api.get("/api/v1/balance").await.ok();
}

async fn an_expired_key_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let soon = quipu_tests::instant_in(Duration::from_secs(2));
    let key = merchant.key(&json!({ "expires_at": soon })).await;
    key.get("/api/v1/balance").await.ok();
    eventually("the key to expire", Duration::from_secs(20), async || {
        let answer = key.get("/api/v1/balance").await;
        (answer.status != 200).then(|| answer.refused(401, "API_KEY_EXPIRED"))
    })
    .await;
}

async fn a_suspended_merchant_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let suspend = async |status: &str| {
        gateway.operator().patch(&merchant.operator_path(""), &json!({ "status": status })).await.data()
    };
    assert_eq!(suspend("suspended").await["status"], "suspended");
    merchant.api.get("/api/v1/balance").await.refused(403, "MERCHANT_SUSPENDED");
    merchant.api.create(&draft::deposit_mxn(100)).await.refused(403, "MERCHANT_SUSPENDED");
    suspend("active").await;
    merchant.api.get("/api/v1/balance").await.ok();
}

async fn the_prefix_selects_the_environment(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000).await;
    let issued = merchant.issue(&json!({ "environment": "live" })).await;
    let key = issued["key"].as_str().expect("a string");
    assert!(key.starts_with("qp_prod_sk_"), "{}", &key[..11]);
    let live = gateway.anonymous().with_api_key(key);
    assert_eq!(live.get("/api/v1/balance?currency=MXN").await.ok()["available_amount"], "0");
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    // No route comes with a new merchant in production.
    live.create(&draft::deposit_mxn(100)).await.refused(400, "CURRENCY_NOT_ENABLED");
}
