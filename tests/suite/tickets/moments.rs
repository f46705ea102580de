//! Many at the same instant.

use std::collections::BTreeSet;

use quipu_tests::{Database, Gateway, on_both_databases};
use serde_json::json;

use super::desk::{path, set_status, staff_path, ticket_in};

on_both_databases!(two_comments_a_close_and_a_reopen_leave_one_history, many_comments_all_arrive);

async fn two_comments_a_close_and_a_reopen_leave_one_history(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for _ in 0..10 {
        let id = ticket_in(&gateway, &merchant, "resolved").await;
        let before = gateway.query_sql("SELECT COUNT(*) FROM events");
        let comment = async |body: &str| {
            merchant.api.post(&path(&id, "/comments"), &json!({ "body": body })).await.status
        };
        let step = async |rest: &str| merchant.api.post_empty(&path(&id, rest)).await.status;
        let (one, two, close, reopen) =
            tokio::join!(comment("1"), comment("2"), step("/close"), step("/reopen"));
        let told = [one, two, close, reopen];
        assert!(told.iter().all(|status| [200, 201, 400].contains(status)), "{told:?}");
        let ticket = merchant.api.get(&path(&id, "")).await.data();
        let status = ticket["status"].as_str().expect("a status");
        // Whichever came last of the two that happened; a reopen is always possible here, before or after a close.
        assert_eq!(reopen, 200, "{told:?}");
        assert!(status == "open" || (status == "closed" && close == 200), "{status} {told:?}");
        let said = merchant.api.get(&path(&id, "/comments")).await.ok()["total"].clone();
        assert_eq!(said, [one, two].iter().filter(|status| **status == 201).count(), "{told:?}");
        let moves = [close, reopen].iter().filter(|status| **status == 200).count();
        let after = gateway.query_sql("SELECT COUNT(*) FROM events");
        let count = |rows: &[String]| rows[0].parse::<usize>().expect("a number");
        assert_eq!(count(&after) - count(&before), moves, "one event a move: {told:?}");
    }
}

async fn many_comments_all_arrive(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = ticket_in(&gateway, &merchant, "waiting_customer").await;
    let mut running = tokio::task::JoinSet::new();
    for number in 0..40 {
        let (api, place) = (merchant.api.clone(), path(&id, "/comments"));
        running.spawn(async move { api.post(&place, &json!({ "body": number.to_string() })).await.status });
    }
    let told = running.join_all().await;
    assert!(told.iter().all(|status| *status == 201), "{told:?}");
    let list = merchant.api.get(&path(&id, "/comments?limit=100")).await.data();
    let bodies: BTreeSet<_> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["body"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(bodies.len(), 40);
    assert_eq!(merchant.api.get(&path(&id, "")).await.data()["status"], "in_progress");
    let told = gateway.query_sql("SELECT type FROM events WHERE type = 'ticket.updated'");
    assert_eq!(told.len(), 3, "the first comment moved it, and no other");
    set_status(&gateway, &id, "resolved").await;
    let refused =
        gateway.operator().post(&staff_path(&id, "/status"), &json!({ "status": "resolved" })).await;
    refused.refused(400, "INVALID_STATUS_TRANSITION");
}
