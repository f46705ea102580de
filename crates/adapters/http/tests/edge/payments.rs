//! What merchants do with payments and balances.

use serde_json::json;

use crate::world::{World, deposit, request};

#[actix_web::test]
async fn a_payment_is_created_read_listed_and_cancelled() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let send = async |method: &str, path: &str| {
        world.send(request(method, path).insert_header(("X-API-Key", key.as_str()))).await
    };
    let created = world.deposit(&key, "r-1").await;
    assert_eq!((created.status, &created.body["success"]), (200, &json!(true)));
    assert_eq!(created.body["status"], "processing");
    let id = created.body["transaction_id"].as_str().expect("an id");

    let read = send("GET", &format!("/api/v1/payments/{id}")).await;
    assert_eq!((&read.body["success"], &read.body["data"]["transaction_id"]), (&json!(true), &json!(id)));

    let listed = send("GET", "/api/v1/payments?limit=1&status=processing").await;
    assert_eq!(listed.body["total"], 1);
    assert_eq!(listed.body["pagination"], json!({"limit": 1, "offset": 0, "total_pages": 1}));
    assert_eq!(listed.body["data"][0]["transaction_id"], id);
    let none = send("GET", "/api/v1/payments?status=failed").await;
    assert_eq!((&none.body["total"], &none.body["pagination"]["total_pages"]), (&json!(0), &json!(0)));

    let cancelled = send("POST", &format!("/api/v1/payments/{id}/cancel")).await;
    assert_eq!(cancelled.code(), (400, "PAYMENT_ALREADY_PROCESSED"));

    let duplicate = world.deposit(&key, "r-1").await;
    assert_eq!(duplicate.code(), (409, "DUPLICATE_MERCHANT_REFERENCE"));
    assert_eq!(duplicate.body["transaction_id"], id);

    let balance = send("GET", &format!("/api/v1/merchants/{merchant}/balance?currency=ARS")).await;
    let expected = json!({
        "success": true, "merchant_id": merchant, "currency": "ARS", "balance_type": "main",
        "balance_amount": "0", "available_amount": "0", "frozen_amount": "0",
        "new_balance": 0, "available_balance": 0,
    });
    assert_eq!(balance.body, expected);
    for query in ["currency=GEL", "currency=", "balance_type=all"] {
        assert_eq!(send("GET", &format!("/api/v1/balance?{query}")).await.status, 400, "{query}");
    }
    let all = send("GET", "/api/v1/balance/all").await;
    assert_eq!(all.body["total_balances"], 30, "five types of six currencies with routes: {}", all.text);
}

#[actix_web::test]
async fn methods_are_listed_and_judged() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let list =
        world.send(request("GET", "/api/v1/payments/methods").insert_header(("X-API-Key", key.as_str())));
    let rows = list.await.body["data"].as_array().expect("a list").len();
    assert!(rows > 10, "{rows}");
    let ask = async |body: serde_json::Value| {
        let request = request("POST", "/api/v1/payments/methods/validate");
        world.send(request.insert_header(("X-API-Key", key.as_str())).set_json(body)).await
    };
    let good = ask(json!({"method": "spei", "currency": "MXN", "type": "deposit"})).await;
    assert_eq!(good.body["data"], json!({"valid": true, "errors": []}));
    let unknown = ask(json!({"method": "pigeon", "currency": "MXN", "type": "deposit"})).await;
    assert_eq!((unknown.status, &unknown.body["data"]["valid"]), (200, &json!(false)));
    assert_eq!(ask(json!({"method": 7})).await.code(), (400, "VALIDATION_FAILED"));
}

#[actix_web::test]
async fn a_repeat_under_one_idempotency_key_gets_the_first_answer_byte_for_byte() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let send = async |name: &str, body: &serde_json::Value| {
        let request = request("POST", "/api/v1/payments").insert_header(("X-API-Key", key.as_str()));
        world.send(request.insert_header(("Idempotency-Key", name)).set_json(body)).await
    };
    let first = send("attempt 1", &deposit("r-1")).await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, None));
    let again = send("attempt 1", &deposit("r-1")).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(first.text, again.text);
    let other = send("attempt 1", &deposit("r-2")).await;
    assert_eq!(other.code(), (422, "IDEMPOTENCY_KEY_MISMATCH"));

    let refused = send("attempt 2", &deposit("r-1")).await;
    assert_eq!(refused.code(), (409, "DUPLICATE_MERCHANT_REFERENCE"));
    let again = send("attempt 2", &deposit("r-1")).await;
    assert_eq!((&again.text, again.header("idempotent-replayed")), (&refused.text, Some("true")));

    for name in ["", "caf\u{e9}", &"k".repeat(256)] {
        assert_eq!(send(name, &deposit("r-3")).await.code(), (400, "VALIDATION_FAILED"), "{name:?}");
    }
}

#[actix_web::test]
async fn the_last_use_of_a_key_is_written_in_time() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    for reference in ["r-1", "r-2"] {
        world.deposit(&key, reference).await;
        world.clock.advance(1);
    }
    world.flush_key_uses().await;
    let used = world.directory.rows().keys[0].last_used_at.expect("it was used");
    assert_eq!(used.seconds(), crate::world::NOW + 1);
}
