//! Bearer tokens (docs/API.md, "Bearer tokens").

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use quipu_signing::{Keyring, SystemEntropy, generate_master_key};
use quipu_tests::{Client, Database, Gateway, draft, eventually, on_both_databases, signature::unix_seconds};
use reqwest::Method;
use ring::{
    hmac,
    signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey},
};
use serde_json::{Value, json};

use super::people::{SigningMerchant, key_with_id, refused_401, text};

const ISSUE: &str = "/api/v1/auth/token";
const UNKNOWN_PAYMENT: &str = "/api/v1/payments/pay_1763683200000_aaaaaaaaaaaa";

on_both_databases!(
    a_token_is_issued_with_what_was_asked_for_and_no_more,
    the_published_key_verifies_a_token,
    a_token_is_accepted_everywhere_but_where_payments_and_tokens_are_made,
    a_token_grants_its_own_scopes_only,
    a_token_that_is_not_ours_is_refused,
    an_expired_token_is_refused,
    a_token_ends_with_its_key,
    a_signing_merchant_gets_tokens_that_end_with_the_credential,
);

async fn a_token_is_issued_with_what_was_asked_for_and_no_more(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let some = merchant.key(&json!({ "scopes": ["payments.read", "balance.view"] })).await;

    // The body is optional, and so is each of its members.
    for answer in [some.post_empty(ISSUE).await, some.post(ISSUE, &json!({})).await] {
        let token = answer.ok();
        assert_eq!((&token["token_type"], &token["expires_in"]), (&json!("Bearer"), &json!(900)));
        assert_eq!(sorted_scopes(&token), ["balance.read", "payments.read"]);
    }
    for expires_in in [1, 900, 3600] {
        let token = some.post(ISSUE, &json!({ "expires_in": expires_in })).await.ok();
        assert_eq!(token["expires_in"], expires_in);
        let claims = claims_of(&text(&token, "access_token"));
        let lifetime = claims["exp"].as_i64().expect("exp") - claims["iat"].as_i64().expect("iat");
        assert_eq!(lifetime, expires_in);
    }
    for expires_in in [json!(0), json!(-1), json!(3601), json!("900"), json!(1.5)] {
        some.post(ISSUE, &json!({ "expires_in": expires_in })).await.invalid("expires_in");
    }

    let subset = some.post(ISSUE, &json!({ "scopes": ["balance.read"] })).await.ok();
    assert_eq!(sorted_scopes(&subset), ["balance.read"]);
    let alias = some.post(ISSUE, &json!({ "scopes": ["payments.view"] })).await.ok();
    assert_eq!(sorted_scopes(&alias), ["payments.read"]);
    let beyond = some.post(ISSUE, &json!({ "scopes": ["balance.read", "payments.cancel"] })).await;
    let message = text(&beyond.refused(403, "SCOPE_MISSING"), "message");
    assert!(message.contains("payments.cancel"), "{message}");
    some.post(ISSUE, &json!({ "scopes": "balance.read" })).await.invalid("scopes");
    let unknown = some.post(ISSUE, &json!({ "scopes": ["payments.everything"] })).await;
    assert_eq!(unknown.status, 400, "{}", unknown.text);
    some.post_bytes(ISSUE, "{").await.refused(400, "VALIDATION_FAILED");
}

async fn the_published_key_verifies_a_token(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (key_id, key) = key_with_id(&merchant, &json!({})).await;
    let token = issue(&gateway.anonymous().with_api_key(&key), &json!({})).await;
    let jwks = gateway.anonymous().get("/.well-known/jwks.json").await.ok();
    let published = jwks["keys"].as_array().expect("keys").clone();
    for key in &published {
        assert_eq!((&key["kty"], &key["crv"]), (&json!("OKP"), &json!("Ed25519")));
        assert!(key.get("d").is_none(), "a private key is published");
    }

    let (signed, signature) = token.rsplit_once('.').expect("three parts");
    let header = decode(signed.split('.').next().expect("a header"));
    assert_eq!(header["alg"], "EdDSA");
    let key = published.iter().find(|key| key["kid"] == header["kid"]).expect("the key is published");
    let public = URL_SAFE_NO_PAD.decode(text(key, "x")).expect("base64url");
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
    UnparsedPublicKey::new(&ED25519, public).verify(signed.as_bytes(), &signature).expect("it verifies");

    let claims = claims_of(&token);
    assert_eq!(claims["sub"], merchant.id.to_string());
    assert_eq!(claims["env"], "test");
    for member in ["iss", "jti", "scope"] {
        assert!(claims[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {claims}");
    }
    assert!(claims.to_string().contains(&key_id), "no key id in {claims}");
    assert!(claims["iat"].as_i64().expect("iat").abs_diff(unix_seconds()) < 60);
}

async fn a_token_is_accepted_everywhere_but_where_payments_and_tokens_are_made(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::steered(draft::deposit_mxn(700), "stay")).await;
    let bearer = gateway.anonymous().with_bearer(&issue(&merchant.api, &json!({})).await);

    for path in [
        "/api/v1/payments".to_owned(),
        format!("/api/v1/payments/{id}"),
        "/api/v1/payments/methods".to_owned(),
        "/api/v1/balance".to_owned(),
        "/api/v1/balance/all".to_owned(),
        format!("/api/v1/merchants/{}", merchant.id),
        format!("/api/v1/merchants/{}/balance", merchant.id),
        format!("/api/v1/merchants/{}/balance/all", merchant.id),
    ] {
        bearer.get(&path).await.ok();
    }
    let question = json!({ "method": "spei", "currency": "MXN", "type": "deposit" });
    bearer.post("/api/v1/payments/methods/validate", &question).await.ok();
    let cancel = bearer.post_empty(&format!("/api/v1/payments/{id}/cancel")).await;
    cancel.refused(400, "PAYMENT_ALREADY_PROCESSED");

    refused_401(&bearer.create(&draft::deposit_mxn(1)).await, "API_KEY_MISSING");
    refused_401(&bearer.post(ISSUE, &json!({})).await, "API_KEY_MISSING");
    // Version 2 is signed, and the operator's interface takes the operator's tokens.
    refused_401(&bearer.get("/api/v2/balance").await, "SIGNATURE_MISSING");
    assert_eq!(bearer.get("/operator/v1/merchants").await.status, 401);
}

/// Nodes share the master key and nothing else, and not even their address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_good_on_every_node_and_ends_on_every_node() {
    let mut gateway = Gateway::start(Database::Postgres).await;
    let node = gateway.another_node().await;
    let merchant = gateway.merchant().await;
    let (key_id, key) = key_with_id(&merchant, &json!({})).await;
    let token = issue(&gateway.anonymous().with_api_key(&key), &json!({})).await;
    let there = node.anonymous().with_bearer(&token);
    eventually("the other node to know the key", async || {
        (there.get("/api/v1/balance").await.status == 200).then_some(())
    })
    .await;
    gateway.kill();
    gateway.restart().await;
    gateway.anonymous().with_bearer(&token).get("/api/v1/balance").await.ok();
    let path = merchant.operator_path(&format!("/api-keys/{key_id}"));
    gateway.operator().delete(&path).await.ok();
    let refused = eventually("the other node to know", async || {
        let answer = there.get("/api/v1/balance").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused_401(&refused, "TOKEN_INVALID");
}

async fn a_token_grants_its_own_scopes_only(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let token = issue(&merchant.api, &json!({ "scopes": ["balance.read"] })).await;
    let bearer = gateway.anonymous().with_bearer(&token);
    bearer.get("/api/v1/balance").await.ok();
    let refused = bearer.get("/api/v1/payments").await.refused(403, "SCOPE_MISSING");
    assert!(text(&refused, "message").contains("payments.read"), "{refused}");
}

async fn a_token_that_is_not_ours_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let token = issue(&merchant.api, &json!({ "scopes": ["balance.read"] })).await;
    let parts: Vec<_> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("three parts") };

    let mut more = decode(claims);
    more["scope"] = json!("balance.read payments.read");
    let more = encode(&more);
    let mut unsigned = decode(header);
    unsigned["alg"] = json!("none");
    let unsigned = encode(&unsigned);
    // The classic confusion: the public key, which everybody has, used as the secret of another algorithm.
    let jwks = gateway.anonymous().get("/.well-known/jwks.json").await.ok();
    let public = URL_SAFE_NO_PAD.decode(text(&jwks["keys"][0], "x")).expect("base64url");
    let mut confused = decode(header);
    confused["alg"] = json!("HS256");
    let confused = format!("{}.{more}", encode(&confused));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &public), confused.as_bytes());

    let elsewhere = Keyring::from_base64(&generate_master_key(&SystemEntropy)).expect("a master key");
    let signed_elsewhere = |header: &str| {
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(elsewhere.token_key().private_pkcs8());
        let tag = key.expect("a key").sign(format!("{header}.{claims}").as_bytes());
        format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let mut of_elsewhere = decode(header);
    of_elsewhere["kid"] = json!(elsewhere.token_key().key_id());
    for forged in [
        format!("{header}.{more}.{signature}"),
        format!("{unsigned}.{claims}."),
        format!("{unsigned}.{more}."),
        format!("{unsigned}.{claims}.{signature}"),
        format!("{confused}.{}", URL_SAFE_NO_PAD.encode(tag)),
        format!("{header}.{claims}"),
        format!("{header}.{claims}.{signature}.{signature}"),
        "qp_test_sk_0000".to_owned(),
        "e30.e30.e30".to_owned(),
        signed_elsewhere(header),
        signed_elsewhere(&encode(&of_elsewhere)),
        gateway.credential("/operator_token").replace("qp_op_", "qp_op_x"),
    ] {
        let answer = gateway.anonymous().with_bearer(&forged).get("/api/v1/balance").await;
        refused_401(&answer, "TOKEN_INVALID");
    }
    for authorization in ["Bearer", "Bearer ", "Basic dTpw", "bearer-ish x"] {
        let headers = [("Authorization", authorization)];
        let answer = gateway.anonymous().send(Method::GET, "/api/v1/balance", None, &headers).await;
        assert_eq!(answer.status, 401, "{authorization:?}: {}", answer.text);
    }
    let good = format!("Bearer {token}");
    let twice = [("Authorization", good.as_str()), ("Authorization", "Bearer x.y.z")];
    let answer = gateway.anonymous().send(Method::GET, "/api/v1/balance", None, &twice).await;
    refused_401(&answer, "TOKEN_INVALID");
    gateway.anonymous().with_bearer(&token).get("/api/v1/balance").await.ok();
}

async fn an_expired_token_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let bearer = gateway.anonymous().with_bearer(&issue(&merchant.api, &json!({ "expires_in": 1 })).await);
    // No grace: two seconds after its issue a token of one second is over.
    let refused = eventually("the token to expire", async || {
        let answer = bearer.get(UNKNOWN_PAYMENT).await;
        (answer.status == 401).then_some(answer)
    })
    .await;
    refused_401(&refused, "TOKEN_EXPIRED");
}

async fn a_token_ends_with_its_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (key_id, key) = key_with_id(&merchant, &json!({})).await;
    let token = issue(&gateway.anonymous().with_api_key(&key), &json!({})).await;
    let bearer = gateway.anonymous().with_bearer(&token);
    bearer.get("/api/v1/balance").await.ok();
    let path = merchant.operator_path(&format!("/api-keys/{key_id}"));
    gateway.operator().delete(&path).await.ok();
    refused_401(&bearer.get("/api/v1/balance").await, "TOKEN_INVALID");
    let other = gateway.anonymous().with_bearer(&issue(&merchant.api, &json!({})).await);
    other.get("/api/v1/balance").await.ok();
}

async fn a_signing_merchant_gets_tokens_that_end_with_the_credential(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let ask = json!({ "expires_in": 60, "scopes": ["webhooks.read", "balance.read"] });
    let issued = merchant.signer.post("/api/v2/auth/token", &ask).send(&caller).await.ok();
    assert_eq!(issued["expires_in"], 60);
    let bearer = caller.with_bearer(&text(&issued, "access_token"));
    let path = format!("/api/v1/merchants/{}", merchant.id);
    assert_eq!(bearer.get(&path).await.data()["api_version"], "v2");
    bearer.get("/api/v1/payments").await.refused(403, "SCOPE_MISSING");
    refused_401(&bearer.create(&draft::deposit_mxn(1)).await, "API_KEY_MISSING");

    let empty =
        merchant.signer.request(Method::POST, "/api/v2/auth/token", None, unix_seconds(), "no-body-1");
    let everything = empty.send(&caller).await.ok();
    assert_eq!(everything["expires_in"], 900);
    // Tickets and webhooks have no signed paths of their own.
    let everything = caller.with_bearer(&text(&everything, "access_token"));
    let ticket = everything.post("/api/v1/tickets", &json!({ "title": "Where is it?" })).await;
    assert_eq!(ticket.status, 201, "{ticket}");
    assert_eq!(everything.get("/api/v1/tickets").await.ok()["total"], 1);
    everything.post("/api/v1/webhooks", &json!({ "url": "https://shop.example/hook" })).await.data();
    assert_eq!(everything.get("/api/v1/webhooks").await.ok()["total"], 1);
    let credential = format!("/hmac-credentials/{}", merchant.credential_id);
    gateway.operator().delete(&merchant.path(&credential)).await.ok();
    refused_401(&bearer.get(&path).await, "TOKEN_INVALID");
}

async fn issue(caller: &Client, body: &Value) -> String {
    text(&caller.post(ISSUE, body).await.ok(), "access_token")
}

fn sorted_scopes(token: &Value) -> Vec<String> {
    let mut scopes: Vec<_> = text(token, "scope").split(' ').map(str::to_owned).collect();
    scopes.sort();
    scopes
}

fn claims_of(token: &str) -> Value {
    decode(token.split('.').nth(1).expect("claims"))
}

fn decode(part: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64url")).expect("JSON")
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
