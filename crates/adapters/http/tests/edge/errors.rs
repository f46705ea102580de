//! The shapes and codes of errors.

use quipu_kernel::StoreError;
use quipu_merchants::Scopes;
use serde_json::{Value, json};

use crate::world::{Answer, World, deposit, request};

fn members(body: &Value) -> Vec<&str> {
    body.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn is_business(answer: &Answer) {
    assert_eq!(
        members(&answer.body),
        ["error_code", "message", "statusCode", "timestamp"],
        "{}",
        answer.text
    );
    assert_eq!(answer.body["statusCode"], answer.status);
    assert!(answer.body["message"].is_string() && answer.body["timestamp"].is_string());
}

async fn post(world: &World, key: &str, body: impl Into<Vec<u8>>, content_type: Option<&str>) -> Answer {
    let mut request = request("POST", "/api/v1/payments").insert_header(("X-API-Key", key));
    if let Some(content_type) = content_type {
        request = request.insert_header(("Content-Type", content_type));
    }
    world.send(request.set_payload(body.into())).await
}

#[actix_web::test]
async fn a_validation_error_lists_every_problem() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let answer = post(&world, &key, json!({"amount": 1.5}).to_string(), Some("application/json")).await;
    assert_eq!(answer.code(), (400, "VALIDATION_FAILED"));
    assert_eq!(members(&answer.body), ["error", "error_code", "message", "statusCode"]);
    assert_eq!((&answer.body["error"], &answer.body["statusCode"]), (&json!("Bad Request"), &json!(400)));
    let messages = answer.body["message"].as_array().expect("a list");
    assert!(messages.contains(&json!("amount must be an integer")) && messages.len() > 3, "{messages:?}");
}

#[actix_web::test]
async fn what_is_no_json_is_one_validation_error() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    for body in [&b""[..], b"{", b"\xff\xfe", b"nonsense", b"{}{}"] {
        let answer = post(&world, &key, body, Some("application/json")).await;
        assert_eq!(answer.code(), (400, "VALIDATION_FAILED"));
        assert_eq!(answer.body["message"], json!(["body must be valid JSON"]));
    }
    for depth in [126, 100_000] {
        let body = format!("{{\"unknown\": {}", "[".repeat(depth)) + &"]".repeat(depth) + "}";
        let answer = post(&world, &key, body, Some("application/json")).await;
        let too_deep = answer.body["message"] == json!(["body must not be nested more than 127 levels deep"]);
        assert_eq!(too_deep, depth > 126, "{depth}: {}", answer.body);
    }
    for body in ["{\"amount\": 1e999}", "{\"customer\": {\"else\": [-1e400]}}"] {
        let answer = post(&world, &key, body, Some("application/json")).await;
        assert_eq!(answer.code(), (400, "VALIDATION_FAILED"));
        assert_eq!(answer.body["message"], json!(["body must not hold a number above 1.79e308"]), "{body}");
    }
    let twice = "{\"amount\": 5, \"customer\": {\"name\": \"A\", \"name\": \"B\"}}";
    let answer = post(&world, &key, twice, Some("application/json")).await;
    assert_eq!(answer.code(), (400, "VALIDATION_FAILED"));
    assert_eq!(answer.body["message"], json!(["customer.name must be given only once"]));
    for body in ["[]", "7", "null", "\"a\""] {
        let answer = post(&world, &key, body, Some("application/json")).await;
        assert_eq!(answer.body["message"], json!(["body must be a JSON object"]), "{body}");
    }
}

#[actix_web::test]
async fn only_json_is_read_and_a_body_that_says_nothing_counts_as_json() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    for (index, content_type) in
        [None, Some("application/json"), Some("Application/JSON; charset=utf-8")].into_iter().enumerate()
    {
        let body = deposit(&format!("r-{index}")).to_string();
        assert_eq!(post(&world, &key, body, content_type).await.status, 200, "{content_type:?}");
    }
    for content_type in ["application/x-www-form-urlencoded", "text/plain", "application/jsonp", ""] {
        let answer = post(&world, &key, deposit("r").to_string(), Some(content_type)).await;
        assert_eq!(answer.code(), (415, "UNSUPPORTED_MEDIA_TYPE"), "{content_type}");
        is_business(&answer);
    }
}

#[actix_web::test]
async fn a_body_beyond_one_mebibyte_is_refused() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let answer = post(&world, &key, vec![b' '; 1024 * 1024 + 1], Some("application/json")).await;
    assert_eq!(answer.code(), (413, "BODY_TOO_LARGE"));
    is_business(&answer);
    let mut whole = deposit("r").to_string().into_bytes();
    whole.resize(1024 * 1024, b' ');
    assert_eq!(post(&world, &key, whole, Some("application/json")).await.status, 200);
}

#[actix_web::test]
async fn unknown_paths_and_methods_answer_in_shape() {
    let world = World::new();
    for path in ["/api", "/api/v1/nothing", "/api/v1/payments/", "/%00", "/%ff", "/api/v1/payments/a/b/c"] {
        let answer = world.send(request("GET", path)).await;
        assert_eq!(answer.code(), (404, "ROUTE_NOT_FOUND"), "{path}");
        is_business(&answer);
    }
    let answer = world.send(request("DELETE", "/api/v1/payments")).await;
    assert_eq!(answer.code(), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(answer.header("allow"), Some("POST, GET, HEAD, OPTIONS"));
    is_business(&answer);
}

#[actix_web::test]
async fn hostile_paths_and_queries_are_clean_refusals() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let send =
        async |path: &str| world.send(request("GET", path).insert_header(("X-API-Key", key.as_str()))).await;
    for id in ["%00", "%ff%fe", "pay_1", "'%20OR%201=1--", "%F0%9F%92%A9", "..%2f..%2fetc"] {
        let answer = send(&format!("/api/v1/payments/{id}")).await;
        assert_eq!(answer.code(), (404, "PAYMENT_NOT_FOUND"), "{id}");
    }
    for query in ["status=%00", "status=%ff", "limit=0", "limit=5&limit=5", "currency=mxn", "customer_id=-1"]
    {
        let answer = send(&format!("/api/v1/payments?{query}")).await;
        assert_eq!(answer.code(), (400, "VALIDATION_FAILED"), "{query}");
    }
    assert_eq!(send("/api/v1/payments?unknown=%00&created_at_from=2026-01-31").await.status, 200);
    assert_eq!(send("/api/v1/merchants/99999999999999999999").await.code(), (404, "MERCHANT_NOT_FOUND"));
}

#[actix_web::test]
async fn api_keys_are_refused_by_what_is_wrong_with_them() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let send = async |key: &str| {
        world.send(request("GET", "/api/v1/balance").insert_header(("X-API-Key", key))).await
    };
    for (text, code) in [
        ("", "API_KEY_MISSING"),
        ("qp_live_abc", "API_KEY_PREFIX_REJECTED"),
        ("qp_sandbox_sk_abc", "API_KEY_PREFIX_REJECTED"),
        ("qp_test_sk_abc", "API_KEY_INVALID"),
        ("nonsense", "API_KEY_INVALID"),
    ] {
        let answer = send(text).await;
        assert_eq!(answer.code(), (401, code), "{text}");
        assert_eq!(members(&answer.body), ["error", "error_code", "message", "statusCode"]);
        assert!(answer.header("www-authenticate").expect("a challenge").starts_with("ApiKey "));
    }
    assert_eq!(send(&key).await.status, 200);

    world.directory.rows().keys[0].expires_at = Some(quipu_kernel::Timestamp::from_millis(1));
    assert_eq!(send(&key).await.code(), (401, "API_KEY_EXPIRED"));
    let (key_id, other) = world.key(merchant, Scopes::all()).await;
    let revoked = world.onboarding.revoke_api_key(merchant, &key_id, quipu_merchants::Actor::shell());
    revoked.await.expect("revoked");
    assert_eq!(send(&other).await.code(), (401, "API_KEY_REVOKED"));
    let switched =
        world.onboarding.switch(merchant, quipu_merchants::ApiVersion::V2, quipu_merchants::Actor::shell());
    switched.await.expect("switched");
    assert_eq!(send(&other).await.code(), (401, "API_VERSION_MISMATCH"));
}

#[actix_web::test]
async fn a_failing_store_is_answered_without_its_words() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let send = async || {
        world.send(request("GET", "/api/v1/balance").insert_header(("X-API-Key", key.as_str()))).await
    };
    let fail = |failure| world.directory.rows().failure = Some(failure);
    fail(StoreError::Failed("SELECT * FROM secrets at /var/lib".to_owned()));
    let answer = send().await;
    assert_eq!(answer.code(), (500, "INTERNAL_ERROR"));
    assert!(!answer.text.contains("SELECT") && !answer.text.contains("/var"));
    is_business(&answer);
    for failure in [StoreError::Overloaded, StoreError::Unavailable("at /var/lib".to_owned())] {
        fail(failure);
        let answer = send().await;
        assert_eq!(answer.code(), (503, "OVERLOADED"));
        assert!(answer.header("retry-after").is_some());
        assert!(!answer.text.contains("/var"));
        is_business(&answer);
    }
    fail(StoreError::OutcomeUnknown("at /var/lib".to_owned()));
    let answer = send().await;
    assert_eq!(answer.code(), (504, "payment_create_outcome_unknown"));
    assert!(!answer.text.contains("/var"));
    is_business(&answer);
}

#[actix_web::test]
async fn a_ledger_under_load_is_told_apart_from_one_that_failed() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let fail = |failure| *world.books.ledger_failure.lock().expect("a lock") = Some(failure);
    let failures = [
        (StoreError::Overloaded, (503, "OVERLOADED")),
        (StoreError::Unavailable("gone".to_owned()), (503, "OVERLOADED")),
        (StoreError::Failed("no such table".to_owned()), (500, "INTERNAL_ERROR")),
    ];
    for (failure, code) in failures {
        fail(failure);
        let request = request("GET", "/api/v1/balance").insert_header(("X-API-Key", key.as_str()));
        assert_eq!(world.send(request).await.code(), code);
    }
}

#[actix_web::test]
async fn a_panic_in_a_handler_is_a_500_in_shape() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let mut body = deposit("r-1");
    body["customer"]["name"] = json!("Panic");
    let answer = post(&world, &key, body.to_string(), None).await;
    assert_eq!(answer.code(), (500, "INTERNAL_ERROR"));
    assert!(!answer.text.contains("secret detail"));
    is_business(&answer);
}

#[actix_web::test]
async fn health_and_readiness_name_what_is_there() {
    let world = World::new();
    assert_eq!(world.send(request("GET", "/healthz")).await.body, json!({"status": "ok"}));
    let answer = world.send(request("GET", "/readyz")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.body,
        json!({
            "status": "not_ready",
            "checks": {"database": true, "limits": false},
            "problems": {"limits": "they are not shared"},
        })
    );
}

#[actix_web::test]
async fn a_sane_request_id_is_echoed_and_another_replaced() {
    let world = World::new();
    let send =
        async |id: &str| world.send(request("GET", "/healthz").insert_header(("X-Request-Id", id))).await;
    assert_eq!(send("order-77.retry:2").await.header("x-request-id"), Some("order-77.retry:2"));
    assert!(send("a b").await.header("x-request-id").expect("an id").starts_with("req_"));
}
