//! Moves from status to status, by merchants and by support.

use quipu_tests::{Database, Gateway, Table, on_both_databases};
use serde_json::json;

use super::desk::{invalid, path, refused, set_status, staff_path, ticket_in};

on_both_databases!(every_step_moves_a_ticket_or_is_refused, a_move_keeps_the_times_and_the_summary);

/// One row of each step: who does what, the status of the ticket, and its status afterwards; `-` is refused. The whole table is a
/// test of `quipu-tickets`.
const TABLE: [(&str, &str, &str); 11] = [
    ("comment", "waiting_customer", "in_progress"),
    ("close", "on_hold", "-"),
    ("reopen", "closed", "open"),
    ("support: reply", "canceled", "-"),
    ("support: open", "in_progress", "-"),
    ("support: in_progress", "on_hold", "in_progress"),
    ("support: waiting_customer", "in_progress", "waiting_customer"),
    ("support: on_hold", "open", "-"),
    ("support: resolved", "in_progress", "resolved"),
    ("support: closed", "resolved", "closed"),
    ("support: canceled", "open", "canceled"),
];

async fn every_step_moves_a_ticket_or_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let mut table = Table::new();
    for (step, from, expected) in TABLE {
        let id = ticket_in(&gateway, &merchant, from).await;
        let answer = match step.strip_prefix("support: ") {
            Some("reply") => operator.post(&staff_path(&id, "/comments"), &json!({ "body": "x" })).await,
            Some(status) => operator.post(&staff_path(&id, "/status"), &json!({ "status": status })).await,
            None if step == "comment" => {
                merchant.api.post(&path(&id, "/comments"), &json!({ "body": "x" })).await
            }
            None => merchant.api.post_empty(&path(&id, &format!("/{step}"))).await,
        };
        let after = merchant.api.get(&path(&id, "")).await.data()["status"].clone();
        let row = format!("{from}, {step}: {answer}");
        if expected == "-" {
            let same = after == from;
            table.note(&row, if same { Ok(()) } else { Err(format!("it is {after}")) });
            table.refused(row, &answer, 400, "INVALID_STATUS_TRANSITION");
        } else {
            let right = after == expected && [200, 201].contains(&answer.status);
            table.note(row, if right { Ok(()) } else { Err(format!("it is {after}")) });
        }
    }
    table.finish();
}

async fn a_move_keeps_the_times_and_the_summary(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let id = ticket_in(&gateway, &merchant, "in_progress").await;
    let ticket = async || merchant.api.get(&path(&id, "")).await.data();
    let before = ticket().await;
    let at = |ticket: &serde_json::Value, name: &str| ticket[name].as_str().unwrap_or_default().to_owned();

    let said = merchant.api.post(&path(&id, "/comments"), &json!({ "body": "x" })).await.json();
    let commented = ticket().await;
    assert_eq!(at(&commented, "updated_at"), at(&before, "updated_at"), "a comment changes no status");
    assert_eq!(at(&commented, "last_activity_at"), at(&said["data"], "created_at"));

    let body = json!({ "status": "resolved", "resolution_summary": "sent again" });
    operator.post(&staff_path(&id, "/status"), &body).await.data();
    let resolved = ticket().await;
    assert_eq!(resolved["resolution_summary"], "sent again");
    assert_eq!(at(&resolved, "resolved_at"), at(&resolved, "updated_at"));

    let closed = merchant.api.post(&path(&id, "/close"), &json!({ "comment": "thanks" })).await.data();
    assert_eq!((&closed["status"], &closed["resolved_at"]), (&json!("closed"), &resolved["resolved_at"]));
    let second = merchant.api.post_empty(&path(&id, "/close")).await;
    refused(&second, 400, "INVALID_STATUS_TRANSITION");
    let reopened = merchant.api.post(&path(&id, "/reopen"), &json!({ "comment": "not yet" })).await.data();
    assert_eq!((&reopened["status"], &reopened["resolved_at"]), (&json!("open"), &json!(null)));
    let said = merchant.api.get(&path(&id, "/comments")).await.data();
    let bodies: Vec<_> = said.as_array().expect("a list").iter().map(|comment| &comment["body"]).collect();
    assert_eq!(bodies, ["x", "thanks", "not yet"]);

    for (rest, body, field) in [
        ("/close", json!({ "comment": 7 }), "comment"),
        ("/reopen", json!({ "comment": "x".repeat(10_001) }), "comment"),
    ] {
        invalid(&merchant.api.post(&path(&id, rest), &body).await, field);
    }
    operator.post(&staff_path(&id, "/status"), &json!({ "status": "gone" })).await.invalid("status");
    set_status(&gateway, &id, "canceled").await;
}
