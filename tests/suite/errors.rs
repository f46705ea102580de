//! The shapes of refusals (docs/API.md, "Errors"), and what all answers have in common.

use quipu_tests::{Answer, Database, Gateway, draft, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

on_both_databases!(
    each_kind_of_refusal_has_its_shape,
    unknown_paths_and_methods_are_refused_in_shape,
    bodies_must_be_json_and_within_bounds,
    every_answer_has_a_request_id,
    balance_queries_are_checked,
);

fn members(body: &Value) -> Vec<&str> {
    body.as_object().expect("an object").keys().map(String::as_str).collect()
}

async fn each_kind_of_refusal_has_its_shape(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    // 1. Business errors.
    let business = merchant.api.create(&draft::withdrawal_ars(1)).await.refused(400, "INSUFFICIENT_BALANCE");
    assert_eq!(members(&business), ["error_code", "message", "statusCode", "timestamp"]);
    assert!(business["message"].is_string() && business["timestamp"].is_string());
    // 2. Validation errors.
    let invalid = merchant.api.create(&json!({})).await.refused(400, "VALIDATION_FAILED");
    assert_eq!(invalid["error"], "Bad Request");
    assert!(
        invalid["message"].as_array().is_some_and(|entries| entries.iter().all(Value::is_string)),
        "{invalid}"
    );
    // 3. Authentication errors, and 403 in the same shape.
    let missing = gateway.anonymous().get("/api/v1/balance").await.refused(401, "API_KEY_MISSING");
    assert_eq!(missing["error"], "Unauthorized");
    assert!(missing["message"].is_string(), "{missing}");
    let key = merchant.key(&json!({ "scopes": ["payments.read"] })).await;
    let forbidden = key.get("/api/v1/balance").await.refused(403, "SCOPE_MISSING");
    assert_eq!(forbidden["error"], "Forbidden");
    assert!(forbidden["message"].as_str().is_some_and(|text| text.contains("balance.read")), "{forbidden}");
    // Not found is a business error.
    let path = "/api/v1/payments/pay_1763683200000_abcdefghjkmn";
    let unknown = merchant.api.get(path).await.refused(404, "PAYMENT_NOT_FOUND");
    assert!(unknown["message"].is_string() && unknown["timestamp"].is_string(), "{unknown}");
}

async fn unknown_paths_and_methods_are_refused_in_shape(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for path in
        ["/api", "/api/v1", "/api/v1/nothing", "/api/v3/payments", "/api/v1/payments/a/b/c", "/%2e%2e/etc"]
    {
        let answer = merchant.api.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {answer}");
        assert_eq!(answer.json()["statusCode"], 404, "{path}");
    }
    for (method, path) in [
        (Method::DELETE, "/api/v1/payments"),
        (Method::PUT, "/api/v1/balance"),
        (Method::GET, "/api/v1/payments/methods/validate"),
        (Method::PATCH, "/api/v1/payments/pay_1763683200000_abcdefghjkmn"),
    ] {
        let answer = merchant.api.send(method.clone(), path, None, &[]).await;
        answer.refused(405, "METHOD_NOT_ALLOWED");
    }
}

async fn bodies_must_be_json_and_within_bounds(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let body = draft::deposit_mxn(100).to_string().into_bytes();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"] {
        let headers = [("Content-Type", content_type)];
        let answer = merchant.api.send(Method::POST, "/api/v1/payments", Some(body.clone()), &headers).await;
        answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");
        let ticket = merchant.api.send(Method::POST, "/api/v1/tickets", Some(body.clone()), &headers).await;
        let told = ticket.refused(415, "UNSUPPORTED_MEDIA_TYPE");
        assert!(told["success"] == false && told["error"].is_string(), "{told}");
        assert_eq!(told.as_object().map(serde_json::Map::len), Some(4), "{told}");
    }
    let headers = [("Content-Type", "application/json; charset=utf-8")];
    merchant.api.send(Method::POST, "/api/v1/payments", Some(body), &headers).await.ok();
    // 1 MiB is the bound; what pads these bodies is ignored where it fits.
    let padded = |size: usize| {
        let mut draft = draft::deposit_mxn(100);
        draft["padding"] = json!("");
        let rest = size - draft.to_string().len();
        draft["padding"] = json!("p".repeat(rest));
        draft
    };
    merchant.api.create(&padded(1_048_576)).await.ok();
    merchant.api.create(&padded(1_048_577)).await.refused(413, "BODY_TOO_LARGE");
}

async fn every_answer_has_a_request_id(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let answers: Vec<Answer> = vec![
        merchant.api.get("/api/v1/balance").await,
        merchant.api.create(&draft::deposit_mxn(100)).await,
        merchant.api.create(&json!({})).await,
        merchant.api.get("/nowhere").await,
        gateway.anonymous().get("/api/v1/balance").await,
        gateway.anonymous().get("/healthz").await,
        merchant.api.post_bytes("/api/v1/payments", vec![b' '; 10_000_000]).await,
    ];
    let mut ids: Vec<_> =
        answers.iter().map(|answer| answer.header("X-Request-Id").expect("a request id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), answers.len(), "request ids are unique");
}

async fn balance_queries_are_checked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for (query, field) in [
        ("currency=GEL", "currency"),
        ("currency=USD", "currency"),
        ("currency=mxn", "currency"),
        ("currency=", "currency"),
        ("balance_type=all", "balance_type"),
        ("balance_type=main&balance_type=main", "balance_type"),
    ] {
        merchant.api.get(&format!("/api/v1/balance?{query}")).await.invalid(field);
    }
}
