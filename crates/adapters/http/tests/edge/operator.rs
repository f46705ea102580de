//! What staff do.

use quipu_merchants::Role;
use serde_json::{Value, json};

use crate::world::{Answer, World, request};

async fn send(world: &World, token: &str, method: &str, path: &str, body: Value) -> Answer {
    let request = request(method, path).insert_header(("Authorization", token));
    world.send(if body.is_null() { request } else { request.set_json(body) }).await
}

async fn onboard(world: &World, admin: &str) -> String {
    let body = json!({"name": "Shop", "return_urls": {"success_url": "https://shop.example/ok"}});
    let created = send(world, admin, "POST", "/operator/v1/merchants", body).await;
    assert_eq!(created.status, 200, "{}", created.text);
    let data = &created.body["data"];
    assert_eq!((&data["api_version"], &data["status"]), (&json!("v1"), &json!("active")));
    assert_eq!(data["default_webhook_secret"], data["default_webhook_secrets"]["test"]);
    assert_ne!(data["default_webhook_secrets"]["test"], data["default_webhook_secrets"]["live"]);
    format!("/operator/v1/merchants/{}", data["merchant_id"])
}

#[actix_web::test]
async fn a_merchant_is_onboarded_funded_and_suspended() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let base = onboard(&world, &admin).await;
    let call = async |method: &str, path: &str, body: Value| {
        send(&world, &admin, method, &format!("{base}{path}"), body).await
    };
    let issued = call("POST", "/api-keys", json!({"environment": "test", "name": "server"})).await;
    let key = issued.body["data"]["key"].as_str().expect("a key").to_owned();
    let key_id = issued.body["data"]["key_id"].as_str().expect("an id").to_owned();
    assert_eq!(world.deposit(&key, "r-1").await.status, 200);

    let listed = call("GET", "/api-keys", Value::Null).await;
    assert_eq!((&listed.body["total"], &listed.body["data"][0]["key_id"]), (&json!(1), &json!(key_id)));
    assert!(!listed.text.contains(&key), "a key is shown once");

    let funding = json!({"environment": "test", "currency": "MXN", "amount": 5000, "reason": "pre-funding"});
    assert_eq!(call("POST", "/adjustments", funding).await.body["data"]["amount"], 5000);
    let too_much = json!({"environment": "test", "currency": "MXN", "amount": -5001, "reason": "oops"});
    assert_eq!(call("POST", "/adjustments", too_much).await.code(), (400, "INSUFFICIENT_BALANCE"));

    let suspended = call("PATCH", "", json!({"status": "suspended"})).await;
    assert_eq!(suspended.body["data"]["status"], "suspended");
    assert_eq!(world.deposit(&key, "r-2").await.code(), (403, "MERCHANT_SUSPENDED"));
    call("PATCH", "", json!({"status": "active"})).await;
    assert_eq!(call("DELETE", &format!("/api-keys/{key_id}"), Value::Null).await.status, 200);
    assert_eq!(world.deposit(&key, "r-2").await.code(), (401, "API_KEY_REVOKED"));
    assert_eq!(call("DELETE", "/api-keys/none", Value::Null).await.code(), (404, "API_KEY_NOT_FOUND"));
}

#[actix_web::test]
async fn a_switch_issues_credentials_once_and_in_both_environments() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let base = onboard(&world, &admin).await;
    let call = async |method: &str, path: &str, body: Value| {
        send(&world, &admin, method, &format!("{base}{path}"), body).await
    };
    let refused = call("PATCH", "", json!({"api_version": "v2"})).await;
    assert_eq!(refused.code(), (400, "VALIDATION_FAILED"));
    let switched = call("POST", "/switch", json!({"api_version": "v2"})).await;
    let credentials = switched.body["data"]["credentials"].as_array().expect("a list");
    let environments: Vec<_> = credentials.iter().map(|it| it["environment"].clone()).collect();
    assert_eq!(environments, ["test", "live"]);
    assert!(credentials[0]["secret"].as_str().expect("a secret").starts_with("qp_hmac_"));
    let again = call("POST", "/switch", json!({"api_version": "v2"})).await;
    assert_eq!(again.code(), (400, "INVALID_STATUS_TRANSITION"));

    let second = call("POST", "/hmac-credentials", json!({"environment": "test"})).await;
    assert_eq!(second.status, 200);
    let third = call("POST", "/hmac-credentials", json!({"environment": "test"})).await;
    assert_eq!(third.code(), (400, "LIMIT_REACHED"));
    let id = second.body["data"]["credential_id"].as_str().expect("an id");
    assert_eq!(call("DELETE", &format!("/hmac-credentials/{id}"), Value::Null).await.status, 200);

    let rotated = call("POST", "/rotate-webhook-secret", json!({"environment": "live"})).await;
    let secret = &rotated.body["data"]["default_webhook_secret"];
    let merchant = call("GET", "", Value::Null).await;
    assert_eq!(&merchant.body["data"]["default_webhook_secrets"]["live"], secret);
}

#[actix_web::test]
async fn routes_are_read_replaced_and_checked() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let path = format!("{}/routes", onboard(&world, &admin).await);
    let before = send(&world, &admin, "GET", &path, Value::Null).await;
    let routes = before.body["data"].clone();
    let replaced = send(&world, &admin, "PUT", &path, routes.clone()).await;
    assert_eq!(replaced.body["data"], routes, "what is read can be written");
    let mut wrong = routes.clone();
    wrong["routes"][1]["rail"] = json!("nowhere");
    let refused = send(&world, &admin, "PUT", &path, wrong).await;
    assert_eq!(refused.body["message"], json!(["routes.1.rail is not a configured rail"]));
    let emptied = send(&world, &admin, "PUT", &path, json!({"routes": []})).await;
    assert_eq!(emptied.body["data"]["routes"], json!([]));
}

#[actix_web::test]
async fn beneficiaries_are_saved_under_a_number() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let path = format!("{}/beneficiaries", onboard(&world, &admin).await);
    let sepa = json!({"environment": "test", "kind": "sepa", "iban": "DE89370400440532013000", "beneficiaryName": "Eva"});
    let saved = send(&world, &admin, "POST", &path, sepa).await;
    assert_eq!(saved.body["data"]["ibanAccountId"], "1", "{}", saved.text);
    let bank = json!({"environment": "test", "kind": "bank", "iban": "de89", "beneficiaryName": " "});
    let refused = send(&world, &admin, "POST", &path, bank).await;
    assert_eq!(refused.body["message"].as_array().map(Vec::len), Some(5), "{}", refused.text);
    let listed = send(&world, &admin, "GET", &path, Value::Null).await;
    assert_eq!(
        (&listed.body["total"], &listed.body["data"][0]["iban"]),
        (&json!(1), &json!("DE89370400440532013000"))
    );
    let log = send(&world, &admin, "GET", "/operator/v1/audit-log", Value::Null).await;
    let after = json!({
        "ibanAccountId": "1",
        "environment": "test",
        "kind": "sepa",
        "beneficiaryName": "Eva",
        "iban_last_four": "3000",
    });
    let mut lines = log.body["data"].as_array().expect("a list").iter();
    let line = lines.find(|line| line["action"] == "beneficiary.add").expect("a line");
    assert_eq!(line["after"], after);
    assert!(!log.text.contains("DE8937"), "{}", log.text);
}

#[actix_web::test]
async fn every_change_has_its_line_in_the_audit_log() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let base = onboard(&world, &admin).await;
    send(&world, &admin, "POST", &format!("{base}/api-keys"), json!({"environment": "live"})).await;
    let id = base.rsplit('/').next().expect("an id");
    let path = format!("/operator/v1/audit-log?merchant_id={id}");
    let log = send(&world, &admin, "GET", &path, Value::Null).await;
    let actions: Vec<_> =
        log.body["data"].as_array().expect("a list").iter().map(|line| line["action"].clone()).collect();
    assert_eq!(actions, ["api_key.issue", "merchant.create"]);
    assert_eq!(log.body["data"][0]["actor"]["name"], "Olga");
    for secret in ["qp_prod_sk_", "whsec_", "v1."] {
        assert!(!log.text.contains(secret), "{}", log.text);
    }
    let check = send(&world, &admin, "GET", "/operator/v1/ledger/check", Value::Null).await;
    assert_eq!(check.body["data"]["clean"], true);
}

#[actix_web::test]
async fn nothing_is_done_for_a_merchant_that_is_not_there() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let environment = json!({"environment": "test"});
    for (method, path, body) in [
        ("GET", "", Value::Null),
        ("PATCH", "", json!({})),
        ("POST", "/api-keys", environment.clone()),
        ("GET", "/api-keys", Value::Null),
        ("POST", "/hmac-credentials", environment.clone()),
        ("POST", "/rotate-webhook-secret", environment),
        ("POST", "/switch", json!({"api_version": "v2"})),
        ("GET", "/routes", Value::Null),
        ("PUT", "/routes", json!({"routes": []})),
        ("GET", "/beneficiaries", Value::Null),
    ] {
        for id in ["1", "0", "-1", "x", "99999999999999999999"] {
            let answer =
                send(&world, &admin, method, &format!("/operator/v1/merchants/{id}{path}"), body.clone())
                    .await;
            assert_eq!(answer.code(), (404, "MERCHANT_NOT_FOUND"), "{method} {id}{path}");
        }
    }
}

#[actix_web::test]
async fn an_adjustment_under_a_key_happens_once() {
    let world = World::new();
    let finance = world.operator(Role::Finance).await;
    let (merchant, key) = world.merchant_with_key().await;
    let path = format!("/operator/v1/merchants/{merchant}/adjustments");
    let adjust = async |name: &str, amount: i64| {
        let body =
            json!({"environment": "test", "currency": "MXN", "amount": amount, "reason": "pre-funding"});
        let request = request("POST", &path).insert_header(("Authorization", finance.as_str()));
        world.send(request.insert_header(("Idempotency-Key", name)).set_json(body)).await
    };
    let first = adjust("a", 700).await;
    let again = adjust("a", 700).await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, None));
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&first.text, Some("true")));
    assert_eq!(adjust("a", 701).await.code(), (422, "IDEMPOTENCY_KEY_MISMATCH"));
    assert_eq!(adjust("b", -701).await.code(), (400, "INSUFFICIENT_BALANCE"));
    adjust("c", 100).await;
    let kept = adjust("b", -701).await;
    assert_eq!(
        (kept.code(), kept.header("idempotent-replayed")),
        ((400, "INSUFFICIENT_BALANCE"), Some("true"))
    );
    assert_eq!(adjust("", 1).await.code(), (400, "VALIDATION_FAILED"));
    let balance = world.send(request("GET", "/api/v1/balance").insert_header(("X-API-Key", key))).await;
    assert_eq!(balance.body["balance_amount"], "800");
}

#[actix_web::test]
async fn staff_are_listed_revoked_and_expire() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let path = "/operator/v1/operators";
    let new = json!({"name": "Ana", "role": "viewer", "expires_at": "2025-11-21T01:00:00Z"});
    let added = send(&world, &admin, "POST", path, new).await;
    assert_eq!(added.status, 200, "{}", added.text);
    let token = format!("Bearer {}", added.body["data"]["token"].as_str().expect("a token"));
    let ana = added.body["data"]["operator_id"].as_str().expect("an id").to_owned();
    let refused =
        send(&world, &admin, "POST", path, json!({"role": "king", "expires_at": "2020-01-01"})).await;
    assert_eq!(refused.body["message"].as_array().map(Vec::len), Some(3), "{}", refused.text);

    let listed = send(&world, &admin, "GET", path, Value::Null).await;
    assert_eq!((&listed.body["total"], &listed.body["data"][0]["name"]), (&json!(2), &json!("Ana")));
    assert!(!listed.text.contains("qp_op_"), "a token is shown once");
    let olga = listed.body["data"][1]["operator_id"].as_str().expect("an id").to_owned();
    let last = send(&world, &admin, "DELETE", &format!("{path}/{olga}"), Value::Null).await;
    assert_eq!(last.code(), (400, "INVALID_STATUS_TRANSITION"));
    let nobody = send(&world, &admin, "DELETE", &format!("{path}/nobody"), Value::Null).await;
    assert_eq!(nobody.code(), (404, "OPERATOR_NOT_FOUND"));

    let by_ana = async || send(&world, &token, "GET", path, Value::Null).await;
    assert_eq!(by_ana().await.code(), (403, "SCOPE_MISSING"));
    world.clock.advance(3600);
    assert_eq!(by_ana().await.code(), (401, "TOKEN_EXPIRED"));
    world.clock.advance(-3600);
    assert_eq!(send(&world, &admin, "DELETE", &format!("{path}/{ana}"), Value::Null).await.status, 200);
    assert_eq!(by_ana().await.code(), (401, "TOKEN_INVALID"));
}

#[actix_web::test]
async fn a_merchant_of_v2_is_issued_no_api_key() {
    let world = World::new();
    let admin = world.operator(Role::Admin).await;
    let base = onboard(&world, &admin).await;
    send(&world, &admin, "POST", &format!("{base}/switch"), json!({"api_version": "v2"})).await;
    let refused =
        send(&world, &admin, "POST", &format!("{base}/api-keys"), json!({"environment": "test"})).await;
    assert_eq!(refused.code(), (400, "INVALID_STATUS_TRANSITION"));
}
