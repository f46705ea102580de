//! API keys: environments, scopes and aliases, revocation, prefixes (specification, "Authentication").

use std::time::Duration;

use quipu_tests::{Database, Gateway, draft, eventually, on_both_databases};
use serde_json::json;

on_both_databases!(
    unknown_and_old_keys_are_told_apart,
    several_keys_live_side_by_side_until_revoked,
    an_expired_key_is_refused,
    a_suspended_merchant_is_refused,
    the_prefix_selects_the_environment,
);

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
