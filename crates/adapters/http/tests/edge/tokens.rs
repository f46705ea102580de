//! Bearer tokens.

use quipu_merchants::{Actor, ApiVersion, Role, Scope, Scopes};
use serde_json::{Value, json};

use crate::world::{Answer, World, deposit, request, signed};

async fn issue(world: &World, key: &str, body: Value) -> Answer {
    let request = request("POST", "/api/v1/auth/token").insert_header(("X-API-Key", key));
    world.send(if body.is_null() { request } else { request.set_json(body) }).await
}

async fn get(world: &World, token: &str, path: &str) -> Answer {
    world.send(request("GET", path).insert_header(("Authorization", format!("Bearer {token}")))).await
}

fn text(answer: &Answer) -> String {
    answer.body["access_token"].as_str().expect("a token").to_owned()
}

#[actix_web::test]
async fn a_token_stands_for_its_key_until_it_expires_or_the_key_ends() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V1).await;
    let (key_id, key) = world.key(merchant, Scopes::all()).await;
    let issued = issue(&world, &key, Value::Null).await;
    assert_eq!((&issued.body["token_type"], &issued.body["expires_in"]), (&json!("Bearer"), &json!(900)));
    assert_eq!(issued.body["scope"], Scopes::all().to_text());
    let token = text(&issued);
    assert_eq!(get(&world, &token, "/api/v1/payments").await.status, 200);

    world.clock.advance(899);
    assert_eq!(get(&world, &token, "/api/v1/balance").await.status, 200);
    world.clock.advance(1);
    assert_eq!(get(&world, &token, "/api/v1/balance").await.code(), (401, "TOKEN_EXPIRED"));

    let token = text(&issue(&world, &key, json!({"expires_in": 3600})).await);
    assert_eq!(get(&world, &token, "/api/v1/balance").await.status, 200);
    world.onboarding.revoke_api_key(merchant, &key_id, Actor::shell()).await.expect("revoked");
    assert_eq!(get(&world, &token, "/api/v1/balance").await.code(), (401, "TOKEN_INVALID"));
}

#[actix_web::test]
async fn a_token_has_no_more_scopes_than_asked_for() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V1).await;
    let (_, key) = world.key(merchant, [Scope::BalanceRead, Scope::PaymentsRead].into_iter().collect()).await;
    let token = text(&issue(&world, &key, json!({"scopes": ["balance.view"]})).await);
    assert_eq!(get(&world, &token, "/api/v1/balance").await.status, 200);
    assert_eq!(get(&world, &token, "/api/v1/payments").await.code(), (403, "SCOPE_MISSING"));
    let beyond = issue(&world, &key, json!({"scopes": ["payments.cancel"]})).await;
    assert_eq!(beyond.code(), (403, "SCOPE_MISSING"));
    for body in [json!({"scopes": ["all"]}), json!({"expires_in": 3601}), json!({"expires_in": 0}), json!([])]
    {
        assert_eq!(issue(&world, &key, body).await.code(), (400, "VALIDATION_FAILED"));
    }
}

#[actix_web::test]
async fn creation_and_the_token_endpoint_want_the_key_itself() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let bearer = format!("Bearer {}", text(&issue(&world, &key, Value::Null).await));
    for path in ["/api/v1/payments", "/api/v1/auth/token"] {
        let request = request("POST", path).insert_header(("Authorization", bearer.as_str()));
        let answer = world.send(request.set_json(deposit("r-1"))).await;
        assert_eq!(answer.code(), (401, "API_KEY_MISSING"), "{path}");
    }
}

#[actix_web::test]
async fn a_forged_or_foreign_token_is_invalid() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let token = text(&issue(&world, &key, Value::Null).await);
    let other_world = World::new();
    let (_, other_key) = other_world.merchant_with_key().await;
    let foreign = text(&issue(&other_world, &other_key, Value::Null).await);
    let (head, rest) = token.split_once('.').expect("three parts");
    let (_, signature) = rest.split_once('.').expect("three parts");
    let (_, foreign_rest) = foreign.split_once('.').expect("three parts");
    let (foreign_claims, _) = foreign_rest.split_once('.').expect("three parts");
    let unsigned = format!("eyJhbGciOiJub25lIn0.{foreign_claims}.");
    let swapped = format!("{head}.{foreign_claims}.{signature}");
    for token in ["", "x", "a.b.c", &foreign, &unsigned, &swapped, &token[..token.len() - 2]] {
        assert_eq!(get(&world, token, "/api/v1/balance").await.code(), (401, "TOKEN_INVALID"), "{token}");
    }
}

#[actix_web::test]
async fn a_signed_request_is_issued_a_token_too() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (credential_id, secret) = world.credential(merchant).await;
    let issued =
        world.send(signed(merchant, &secret, "nonce-0001", ("POST", "/api/v2/auth/token"), "")).await;
    let token = text(&issued);
    assert_eq!(get(&world, &token, "/api/v1/payments").await.status, 200);
    world.onboarding.revoke_credential(merchant, &credential_id, Actor::shell()).await.expect("revoked");
    assert_eq!(get(&world, &token, "/api/v1/payments").await.code(), (401, "TOKEN_INVALID"));
}

#[actix_web::test]
async fn anyone_can_read_the_public_keys() {
    let world = World::new();
    let keys = world.send(request("GET", "/.well-known/jwks.json")).await;
    let key = &keys.body["keys"][0];
    assert_eq!((&key["kty"], &key["crv"], &key["alg"]), (&json!("OKP"), &json!("Ed25519"), &json!("EdDSA")));
    assert!(key.get("d").is_none(), "no private part");
}

#[actix_web::test]
async fn staff_read_the_balances_of_any_merchant() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V1).await;
    let viewer = world.operator(Role::Viewer).await;
    let read = async |path: String| {
        world.send(request("GET", &path).insert_header(("Authorization", viewer.as_str()))).await
    };
    let live = read(format!("/api/v1/merchants/{merchant}/balance/all")).await;
    assert_eq!((live.status, &live.body["total_balances"]), (200, &json!(0)), "nothing is live yet");
    let test = read(format!("/api/v1/merchants/{merchant}/balance/all?environment=test")).await;
    assert_eq!(test.body["total_balances"], 30);
    let wrong = read(format!("/api/v1/merchants/{merchant}/balance?environment=both")).await;
    assert_eq!(wrong.code(), (400, "VALIDATION_FAILED"));
    assert_eq!(read("/api/v1/merchants/1/balance".to_owned()).await.code(), (404, "MERCHANT_NOT_FOUND"));
}
