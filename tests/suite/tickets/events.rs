//! What merchants are told of their tickets, in the commit of each change.

use quipu_tests::{Database, Gateway, Merchant, on_both_databases};
use serde_json::{Value, json};

use super::desk::{path, plain, set_status, staff_path};

on_both_databases!(each_move_is_told_once, an_event_carries_the_whole_ticket);

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
