//! What merchants are told of their tickets, in the commit of each change.

use quipu_tests::{Database, Gateway, Merchant, Receiver, on_both_databases};
use serde_json::{Value, json};

use super::desk::{path, plain, set_status, staff_path};

on_both_databases!(
    each_move_is_told_once,
    an_event_carries_the_whole_ticket,
    what_is_told_arrives_signed_and_nothing_internal_does
);

/// What was told of tickets, in order.
fn told(gateway: &Gateway) -> Vec<Value> {
    let query = "SELECT payload FROM events WHERE type LIKE 'ticket.%' ORDER BY created_at, id";
    gateway.query_sql(query).iter().map(|payload| serde_json::from_str(payload).expect("JSON")).collect()
}

fn names(gateway: &Gateway) -> Vec<String> {
    told(gateway).iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

async fn say(merchant: &Merchant, id: &str) {
    let said = merchant.api.post(&path(id, "/comments"), &json!({ "body": "x" })).await;
    assert_eq!(said.status, 201, "{said}");
}

async fn each_move_is_told_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    say(&merchant, &id).await;
    set_status(&gateway, &id, "in_progress").await;
    set_status(&gateway, &id, "waiting_customer").await;
    say(&merchant, &id).await;
    for internal in [true, false] {
        let said = json!({ "body": "x", "internal": internal });
        gateway.operator().post(&staff_path(&id, "/comments"), &said).await.data();
    }
    gateway.operator().post(&staff_path(&id, "/assign"), &json!({ "assignee": "Sam" })).await.data();
    set_status(&gateway, &id, "resolved").await;
    merchant.api.post_empty(&path(&id, "/reopen")).await.data();
    merchant.api.post(&path(&id, "/close"), &json!({ "comment": "bye" })).await.data();
    merchant.api.post_empty(&path(&id, "/close")).await.refused(400, "INVALID_STATUS_TRANSITION");
    merchant.api.post_empty(&path(&id, "/reopen")).await.data();
    set_status(&gateway, &id, "canceled").await;
    let expected = [
        "ticket.created",
        // in_progress, waiting_customer, and the comment that support waited for.
        "ticket.updated",
        "ticket.updated",
        "ticket.updated",
        "ticket.comment_added",
        "ticket.resolved",
        "ticket.updated",
        "ticket.closed",
        "ticket.updated",
        "ticket.updated",
    ];
    assert_eq!(names(&gateway), expected);
}

async fn an_event_carries_the_whole_ticket(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let said =
        gateway.operator().post(&staff_path(&id, "/comments"), &json!({ "body": "look" })).await.data();
    let ticket = merchant.api.get(&path(&id, "")).await.data();
    let events = told(&gateway);
    let last = &events[1];
    assert_eq!(last["type"], "ticket.comment_added");
    assert_eq!((&last["merchant_id"], &last["environment"]), (&json!(merchant.id), &json!("test")));
    assert_eq!(last["data"]["ticket"], ticket);
    let comment = merchant.api.get(&path(&id, "/comments")).await.data()[0].clone();
    assert_eq!((&last["data"]["comment"], &comment["id"]), (&comment, &said["id"]));
    assert_eq!(last["created_at"], said["created_at"]);
    assert_eq!(events[0]["data"].get("comment"), None);
}

async fn what_is_told_arrives_signed_and_nothing_internal_does(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let hook = |path: &str, events: Value| json!({ "url": receiver.url(path), "events": events });
    let all = json!([
        "ticket.created",
        "ticket.updated",
        "ticket.comment_added",
        "ticket.resolved",
        "ticket.closed"
    ]);
    let made = merchant.api.post("/api/v1/webhooks", &hook("/tickets", all)).await.data();
    // Tickets have to be asked for by name.
    let usual = merchant.api.post("/api/v1/webhooks", &json!({ "url": receiver.url("/usual") })).await.data();
    let id = plain(&merchant.api).await;
    set_status(&gateway, &id, "in_progress").await;
    for (body, internal) in [("between us", true), ("look again", false)] {
        let said = json!({ "body": body, "internal": internal });
        gateway.operator().post(&staff_path(&id, "/comments"), &said).await.data();
    }
    set_status(&gateway, &id, "resolved").await;
    merchant.api.post_empty(&path(&id, "/close")).await.data();
    let arrived = receiver.wait_for("/tickets", 5).await;
    let secret = made["secret"].as_str().expect("a secret");
    for delivery in &arrived {
        let event = delivery.json();
        assert!(delivery.is_signed_with(secret), "{event}");
        assert_eq!(delivery.header("webhook-id"), event["id"].as_str().expect("an id"));
        assert_eq!(event["merchant_id"], json!(merchant.id));
        assert_eq!(event["data"]["ticket"]["ticket_id"], json!(id));
        assert!(!delivery.body.contains("between us"), "{event}");
    }
    let status = |name: &str| {
        let event = arrived.iter().find(|it| it.event_type() == name).map(quipu_tests::Delivery::json);
        event.unwrap_or_else(|| panic!("{name} did not arrive"))["data"].clone()
    };
    for (name, expected) in [
        ("ticket.created", "open"),
        ("ticket.updated", "in_progress"),
        ("ticket.resolved", "resolved"),
        ("ticket.closed", "closed"),
    ] {
        assert_eq!(status(name)["ticket"]["status"], expected, "{name}");
        assert_eq!(status(name).get("comment"), None, "{name}");
    }
    assert_eq!(status("ticket.comment_added")["comment"]["body"], "look again");
    let log = format!("/api/v1/webhooks/{}/events", usual["id"].as_str().expect("an id"));
    assert_eq!(merchant.api.get(&log).await.ok()["total"], 0, "nothing was owed to it");
}
