//! Targets that payments name for themselves.

use quipu_tests::{Database, Delivery, Gateway, Merchant, Receiver, draft, on_both_databases};
use serde_json::{Value, json};

use super::{endpoint, path_of};

on_both_databases!(
    a_payment_names_its_own_target,
    a_named_target_is_reused_and_enabled_again,
    a_target_that_is_also_configured_gets_both_deliveries,
    a_rotated_secret_signs_on_beside_its_successor,
);

async fn default_secret(merchant: &Merchant) -> String {
    let data = merchant.api.get(&format!("/api/v1/merchants/{}", merchant.id)).await.data();
    data["default_webhook_secret"].as_str().expect("a secret").to_owned()
}

fn naming(url: &str, events: Option<&[&str]>) -> Value {
    let mut draft = draft::deposit_mxn(100);
    draft["webhook_url"] = json!(url);
    if let Some(events) = events {
        draft["webhook_events"] = json!(events);
    }
    draft
}

async fn named(merchant: &Merchant) -> Vec<Value> {
    let list = merchant.api.get("/webhooks?source=in_request").await.ok();
    list["data"].as_array().expect("a list").clone()
}

async fn a_payment_names_its_own_target(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let id = merchant.create(&naming(&receiver.url("/a"), None)).await;
    // Events alone name no target.
    let events = json!(["payment.created", "payment.completed"]);
    let unnamed = merchant.create(&draft::with(draft::deposit_mxn(100), "/webhook_events", events)).await;
    assert_eq!(merchant.api.payment(&unnamed).await["webhook_url"], Value::Null);
    // A withdrawal has more events than those that are told unless a payment asks for others.
    merchant.fund("ARS", 100).await;
    let paid_out = draft::with(draft::withdrawal_ars(100), "/webhook_url", json!(receiver.url("/out")));
    let paid_out = merchant.create(&paid_out).await;
    let few = merchant.create(&naming(&receiver.url("/few"), Some(&["payment.completed"]))).await;
    let deliveries = receiver.wait_for("/a", 2).await;
    let secret = default_secret(&merchant).await;
    assert!(deliveries.iter().all(|it| it.is_signed_with(&secret)));
    for told in [&deliveries, &receiver.wait_for("/out", 2).await] {
        let mut heard: Vec<_> = told.iter().map(Delivery::event_type).collect();
        heard.sort();
        assert_eq!(heard, ["payment.completed", "payment.created"]);
    }
    assert!(deliveries.iter().all(|it| it.json()["data"]["payment"]["transaction_id"] == id));
    let completed = receiver.wait_for("/few", 1).await;
    assert_eq!(completed[0].json()["data"]["payment"]["transaction_id"], few);

    assert_eq!(
        merchant.api.get("/webhooks").await.ok()["total"],
        0,
        "they are not among the configured ones"
    );
    let endpoints = named(&merchant).await;
    assert_eq!(endpoints.len(), 3);
    assert!(endpoints.iter().all(|it| it["source"] == "in_request" && it["enabled"] == true));
    assert!(endpoints.iter().all(|it| it.get("secret").is_none()));
    // Once the other payments are over, all their deliveries would be in the log: commits make them with the events.
    for other in [&unnamed, &few, &paid_out] {
        merchant.wait_for(other, "completed").await;
    }
    for (path, owed) in [("/a", 2), ("/few", 1), ("/out", 2)] {
        let target = endpoints.iter().find(|it| it["url"] == receiver.url(path)).expect("an endpoint");
        assert_eq!(merchant.api.get(&path_of(target, "/events")).await.ok()["total"], owed, "{path}");
    }
}

async fn a_named_target_is_reused_and_enabled_again(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let url = receiver.url("/a");
    for _ in 0..3 {
        merchant.create(&naming(&url, Some(&["payment.created"]))).await;
    }
    receiver.wait_for("/a", 3).await;
    let endpoints = named(&merchant).await;
    assert_eq!(endpoints.len(), 1);
    merchant.api.put(&path_of(&endpoints[0], "/disable"), &json!({})).await.data();
    merchant.create(&naming(&url, Some(&["payment.created"]))).await;
    receiver.wait_for("/a", 4).await;
    let endpoints = named(&merchant).await;
    assert_eq!((endpoints.len(), &endpoints[0]["enabled"]), (1, &json!(true)));
    let other = json!({ "url": "https://elsewhere.example" });
    merchant.api.put(&path_of(&endpoints[0], ""), &other).await.invalid("url");

    merchant.api.delete(&path_of(&endpoints[0], "")).await.data();
    merchant.create(&naming(&url, Some(&["payment.created"]))).await;
    receiver.wait_for("/a", 5).await;
    assert_ne!(named(&merchant).await[0]["id"], endpoints[0]["id"]);
}

async fn a_target_that_is_also_configured_gets_both_deliveries(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&naming(&receiver.url("/a"), Some(&["payment.created"]))).await;
    let both = receiver.wait_for("/a", 2).await;
    assert_eq!(both[0].header("webhook-id"), both[1].header("webhook-id"));
    for secret in [made["secret"].as_str().expect("a secret"), &default_secret(&merchant).await] {
        assert_eq!(both.iter().filter(|it| it.is_signed_with(secret)).count(), 1);
    }
}

async fn a_rotated_secret_signs_on_beside_its_successor(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let old = default_secret(&merchant).await;
    let named = naming(&receiver.url("/a"), Some(&["payment.created"]));
    merchant.create(&named).await;
    let before = receiver.wait_for("/a", 1).await.pop().expect("the first");
    assert!(before.is_signed_with(&old));
    let path = merchant.operator_path("/rotate-webhook-secret");
    let rotated = gateway.operator().post(&path, &json!({ "environment": "test" })).await.data();
    let new = rotated["default_webhook_secret"].as_str().expect("a secret").to_owned();
    assert_ne!(old, new);
    assert_eq!(default_secret(&merchant).await, new);
    // From the very next delivery on, though the merchant was read just now for the one before.
    merchant.create(&naming(&receiver.url("/a"), Some(&["payment.created"]))).await;
    let delivery = receiver.wait_for("/a", 2).await.pop().expect("the last");
    assert_eq!(delivery.header("webhook-signature").split(' ').count(), 2);
    assert!(delivery.is_signed_with(&old) && delivery.is_signed_with(&new));
}
