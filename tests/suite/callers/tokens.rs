//! Bearer tokens: short-lived stand-ins for a key or a credential (decisions on authentication).

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use quipu_tests::{Client, Database, Gateway, draft, eventually, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    a_token_stands_in_for_its_key,
    a_token_has_a_subset_of_the_scopes,
    a_token_ends_with_its_time_and_with_its_key,
    a_forged_token_is_refused,
    version_2_merchants_get_tokens_too,
);

const TOKEN: &str = "/api/v1/auth/token";

async fn token(client: &Client, wishes: Value) -> Value {
    client.post(TOKEN, &wishes).await.ok()
}

fn bearer(gateway: &Gateway, answer: &Value) -> Client {
    gateway.anonymous().with_bearer(answer["access_token"].as_str().expect("a token"))
}

async fn a_token_stands_in_for_its_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let answer = merchant.api.post_empty(TOKEN).await.ok();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(900)));
    assert!(
        answer["scope"].as_str().is_some_and(|scope| scope.split(' ').any(|one| one == "payments.read")),
        "{answer}"
    );
    let bearer = bearer(&gateway, &answer);
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    assert_eq!(bearer.payment(&id).await["transaction_id"], id);
    assert_eq!(bearer.get("/api/v1/balance").await.ok()["merchant_id"], merchant.id);
    // Money is moved with the key itself, and tokens beget no tokens.
    bearer.create(&draft::deposit_mxn(100)).await.refused(401, "API_KEY_MISSING");
    bearer.post_empty(TOKEN).await.refused(401, "API_KEY_MISSING");
    let claims = claims(answer["access_token"].as_str().expect("a token"));
    assert_eq!(
        claims["sub"].as_str().map_or_else(|| claims["sub"].to_string(), str::to_owned),
        merchant.id.to_string()
    );
    for claim in ["iss", "env", "scope", "iat", "exp", "jti"] {
        assert!(!claims[claim].is_null(), "{claim}: {claims}");
    }
    let jwks = gateway.anonymous().get("/.well-known/jwks.json").await.ok();
    assert_eq!(jwks["keys"][0]["crv"], "Ed25519", "{jwks}");
    assert!(jwks["keys"][0]["d"].is_null(), "the private half stays inside");
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("base64url")).expect("JSON")
}

async fn a_token_has_a_subset_of_the_scopes(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let answer = token(&merchant.api, json!({ "scopes": ["balance.read"], "expires_in": 60 })).await;
    assert_eq!((&answer["scope"], &answer["expires_in"]), (&json!("balance.read"), &json!(60)));
    let narrow = bearer(&gateway, &answer);
    narrow.get("/api/v1/balance").await.ok();
    narrow.get("/api/v1/payments").await.refused(403, "SCOPE_MISSING");
    let key = merchant.key(&json!({ "scopes": ["balance.read"] })).await;
    key.post(TOKEN, &json!({ "scopes": ["payments.read"] })).await.refused(403, "SCOPE_MISSING");
    for wishes in [json!({ "expires_in": 3_601 }), json!({ "expires_in": 0 }), json!({ "expires_in": "60" })]
    {
        key.post(TOKEN, &wishes).await.invalid("expires_in");
    }
    key.post(TOKEN, &json!({ "scopes": ["payments.steal"] })).await.invalid("scopes");
}

async fn a_token_ends_with_its_time_and_with_its_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let short = bearer(&gateway, &token(&merchant.api, json!({ "expires_in": 2 })).await);
    short.get("/api/v1/balance").await.ok();
    eventually("the token to expire", Duration::from_secs(20), async || {
        let answer = short.get("/api/v1/balance").await;
        (answer.status != 200).then(|| answer.refused(401, "TOKEN_EXPIRED"))
    })
    .await;
    let issued = merchant.issue(&json!({})).await;
    let key = gateway.anonymous().with_api_key(issued["key"].as_str().expect("a key"));
    let held = bearer(&gateway, &token(&key, json!({})).await);
    held.get("/api/v1/balance").await.ok();
    let key_id = issued["key_id"].as_str().map_or_else(|| issued["key_id"].to_string(), str::to_owned);
    gateway.operator().delete(&merchant.operator_path(&format!("/api-keys/{key_id}"))).await.ok();
    assert_eq!(held.get("/api/v1/balance").await.status, 401);
}

async fn a_forged_token_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let answer = token(&merchant.api, json!({})).await;
    let good = answer["access_token"].as_str().expect("a token");
    let parts: Vec<_> = good.split('.').collect();
    let mut claims = claims(good);
    claims["sub"] = json!("1");
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let none = encode(&json!({ "alg": "none", "typ": "JWT" }));
    for forged in [
        format!("{}.{}.{}", parts[0], encode(&claims), parts[2]),
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.{}", parts[0], parts[1], URL_SAFE_NO_PAD.encode([0; 64])),
        format!("{good}x"),
        "a.b.c".to_owned(),
    ] {
        gateway.anonymous().with_bearer(&forged).get("/api/v1/balance").await.refused(401, "TOKEN_INVALID");
    }
    gateway.anonymous().with_bearer(good).get("/api/v1/balance").await.ok();
}

async fn version_2_merchants_get_tokens_too(database: Database) {
    let gateway = Gateway::start(database).await;
    let answer = gateway.v2().post("/api/v2/auth/token", &json!({})).await.ok();
    let bearer = bearer(&gateway, &answer);
    let id = gateway.credential("/v2/merchant_id");
    bearer.get(&format!("/api/v1/merchants/{id}")).await.data();
}
