//! The shapes of refusals (docs/API.md, "Errors"), and what all answers have in common, as they leave a process. Each code has
//! its row in `crates/adapters/http/tests/edge/errors.rs`, and each family of routes its shapes in `src/route_matrix/families.rs` beside
//! it; no database has a say in them.

use quipu_tests::{Database, Gateway, draft};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_answer_has_its_shape_and_a_request_id_of_its_own() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let (merchant, anonymous) = (gateway.merchant().await, gateway.anonymous());
    let unread = merchant.key(&json!({ "scopes": ["payments.read"] })).await;
    let as_text = [("Content-Type", "text/plain")];
    let ticket = merchant.api.send(Method::POST, "/api/v1/tickets", Some(b"{}".to_vec()), &as_text).await;
    // What pads this body would be ignored if it fitted.
    let long = merchant.api.post_bytes("/api/v1/payments", vec![b' '; 10_000_000]).await;
    let business = ["error_code", "message", "statusCode", "timestamp"];
    let validation = ["error", "error_code", "message", "statusCode"];
    let of_tickets = ["error", "error_code", "statusCode", "success"];
    let refusals = [
        (merchant.api.create(&draft::withdrawal_ars(1)).await, 400, "INSUFFICIENT_BALANCE", business),
        (merchant.api.create(&json!({})).await, 400, "VALIDATION_FAILED", validation),
        (anonymous.get("/api/v1/balance").await, 401, "API_KEY_MISSING", validation),
        (unread.get("/api/v1/balance").await, 403, "SCOPE_MISSING", validation),
        (merchant.api.get("/nowhere").await, 404, "ROUTE_NOT_FOUND", business),
        (
            merchant.api.send(Method::PUT, "/api/v1/balance", None, &[]).await,
            405,
            "METHOD_NOT_ALLOWED",
            business,
        ),
        (long, 413, "BODY_TOO_LARGE", business),
        (ticket, 415, "UNSUPPORTED_MEDIA_TYPE", of_tickets),
    ];
    let mut ids = Vec::new();
    for (answer, status, code, members) in &refusals {
        let told = answer.refused(*status, code);
        assert_eq!(told.as_object().expect("an object").keys().collect::<Vec<_>>(), members, "{told}");
        ids.push(answer.header("X-Request-Id").expect("a request id"));
    }
    assert!(refusals[1].0.json()["message"].as_array().is_some_and(|all| all.iter().all(Value::is_string)));
    let answers = [anonymous.get("/healthz").await, merchant.api.get("/api/v1/balance").await];
    ids.extend(answers.iter().map(|answer| answer.header("X-Request-Id").expect("a request id")));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "request ids are unique");
}
