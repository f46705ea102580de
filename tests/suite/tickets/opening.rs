//! Opening and reading a ticket.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::json;

use super::desk::{created, id_of, invalid, opened, path, plain, refused};

on_both_databases!(
    a_ticket_is_shown_with_every_field,
    both_paths_lead_to_the_same,
    a_payment_has_one_ticket_and_must_be_the_merchants_own,
    another_merchants_ticket_and_none_are_the_same,
);

async fn a_ticket_is_shown_with_every_field(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let payment = merchant.create(&draft::deposit_mxn(500)).await;
    let body = json!({
        "title": "Dónde está", "description": "two\nlines", "category": "refund_request", "sub_category": "late",
        "payment_id": payment, "transaction_id": "free text", "reference": "order 7", "requires_refund": true,
        "unknown": 1,
    });
    let ticket = created(&merchant.api.post("/api/v1/tickets", &body).await);
    let id = id_of(&ticket);
    let mut expected = body.clone();
    expected.as_object_mut().expect("an object").remove("unknown");
    for (member, value) in json!({
        "ticket_id": id, "status": "open", "resolution_summary": null, "attachments": [], "resolved_at": null,
        "created_at": ticket["created_at"], "updated_at": ticket["created_at"],
        "last_activity_at": ticket["created_at"],
    })
    .as_object()
    .expect("an object")
    {
        expected[member] = value.clone();
    }
    assert_eq!(ticket, expected);
    assert_eq!(merchant.api.get(&path(&id, "")).await.data(), expected);

    let least =
        created(&merchant.api.post("/api/v1/tickets", &json!({ "title": "x", "category": null })).await);
    assert_eq!((&least["category"], &least["requires_refund"]), (&json!("other"), &json!(false)));
    assert_eq!((&least["description"], &least["payment_id"]), (&json!(null), &json!(null)));
}

async fn both_paths_lead_to_the_same(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let ticket = created(&merchant.api.post("/tickets", &json!({ "title": "x" })).await);
    let id = id_of(&ticket);
    for prefix in ["/tickets", "/api/v1/tickets"] {
        assert_eq!(
            merchant.api.get(&format!("{prefix}/{id}")).await.data()["ticket_id"],
            ticket["ticket_id"]
        );
        assert_eq!(merchant.api.get(prefix).await.ok()["total"], 1);
        assert_eq!(merchant.api.get(&format!("{prefix}/{id}/comments")).await.ok()["total"], 0);
        merchant.api.post_empty(&format!("{prefix}/{id}/close")).await.data();
        merchant.api.post_empty(&format!("{prefix}/{id}/reopen")).await.data();
    }
    let unknown = merchant.api.get("/tickets/019aa3b5-ec00-7fff-bfff-ffffffffffff").await;
    refused(&unknown, 404, "TICKET_NOT_FOUND");
    // Who is refused reads one body that is both shapes.
    let body = gateway.anonymous().get("/tickets").await.refused(401, "API_KEY_MISSING");
    assert_eq!((&body["success"], &body["error"]), (&json!(false), &json!("Unauthorized")));
    assert!(body["message"].is_string());
}

/// Every rule of a body has its row among the tests of `quipu-tickets`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_broken_rule_of_a_ticket_is_named() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let api = gateway.merchant().await.api;
    let long = |length: usize| "ñ".repeat(length);
    for (body, field) in [
        (json!({}), "title"),
        (json!({ "title": "x", "description": long(10_001) }), "description"),
        (json!({ "title": "x", "payment_id": "pay_1763683200000_aaaaaaaaaaaa" }), "payment_id"),
    ] {
        invalid(&api.post("/api/v1/tickets", &body).await, field);
    }
    refused(&api.post_bytes("/api/v1/tickets", "{").await, 400, "VALIDATION_FAILED");
    opened(&api, json!({ "title": long(200), "description": long(10_000) })).await;
    assert_eq!(api.get("/api/v1/tickets").await.ok()["total"], 1, "what is refused is not there");
}

async fn a_payment_has_one_ticket_and_must_be_the_merchants_own(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let payment = owner.create(&draft::deposit_mxn(500)).await;
    let body = json!({ "title": "x", "payment_id": payment });
    invalid(&other.api.post("/api/v1/tickets", &body).await, "payment_id");
    let live = owner.key(&json!({ "environment": "live" })).await;
    invalid(&live.post("/api/v1/tickets", &body).await, "payment_id");
    let id = opened(&owner.api, body.clone()).await;
    refused(&owner.api.post("/api/v1/tickets", &body).await, 409, "TICKET_EXISTS_FOR_PAYMENT");
    // Ever: a ticket that is closed still is the one.
    owner.api.post_empty(&path(&id, "/close")).await.data();
    refused(&owner.api.post("/api/v1/tickets", &body).await, 409, "TICKET_EXISTS_FOR_PAYMENT");
    // At the same instant, too.
    let payment = owner.create(&draft::deposit_mxn(500)).await;
    let body = json!({ "title": "x", "payment_id": payment });
    let (one, two) = tokio::join!(owner.api.post("/tickets", &body), owner.api.post("/tickets", &body));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "{one} {two}");
}

async fn another_merchants_ticket_and_none_are_the_same(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let live = owner.key(&json!({ "environment": "live" })).await;
    let id = plain(&owner.api).await;
    let none = "019aa3b5-ec00-7fff-bfff-ffffffffffff";
    let upload = json!({ "filename": "a.png", "content_type": "image/png" });
    for caller in [&other.api, &live] {
        for (rest, body) in [
            ("", None),
            ("/comments", None),
            ("/comments", Some(json!({ "body": "x" }))),
            ("/close", Some(json!({}))),
            ("/reopen", Some(json!({}))),
            ("/upload-url", Some(upload.clone())),
            ("/attachments/019aa3b5-ec00-7fff-bfff-ffffffffffff", None),
            ("/comments/1/attachments/019aa3b5-ec00-7fff-bfff-ffffffffffff", None),
        ] {
            let ask = async |id: &str| match &body {
                Some(body) => caller.post(&path(id, rest), body).await,
                None => caller.get(&path(id, rest)).await,
            };
            let (foreign, unknown) = (ask(&id).await, ask(none).await);
            refused(&foreign, 404, "TICKET_NOT_FOUND");
            assert_eq!(foreign.text, unknown.text, "{rest}");
        }
        assert_eq!(caller.get("/api/v1/tickets").await.ok()["total"], 0);
    }
    assert_eq!(owner.api.get(&path(&id, "")).await.data()["status"], "open");
}
