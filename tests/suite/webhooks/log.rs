//! The log of an endpoint: its filters, its totals, and retries by what they name.

use quipu_tests::{Behaviour, Database, Receiver, Setup, draft, eventually, on_both_databases};
use serde_json::{Value, json};

use super::{endpoint, impatient, path_of};

on_both_databases!(
    totals_are_exact_under_every_filter,
    retries_take_what_they_name,
    finished_deliveries_are_forgotten
);

async fn totals_are_exact_under_every_filter(database: Database) {
    let setup = Setup::new(database).set("WEBHOOKS__RETRY_SCHEDULE", "1h").set("LOG__FORMAT", "json");
    let gateway = setup.start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    for _ in 0..5 {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    receiver.wait_for("/a", 5).await;
    receiver.behave("/a", Behaviour::status(500));
    for _ in 0..3 {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    receiver.wait_for("/a", 8).await;
    let log = async |query: &str| merchant.api.get(&path_of(&made, &format!("/events?{query}"))).await.ok();
    eventually("all attempts to be recorded", async || {
        let pending = log("status=pending").await;
        let events = pending["data"].as_array().expect("a list").clone();
        let tried = events.iter().all(|event| event["attempts"].as_array().is_some_and(|it| it.len() == 1));
        (pending["total"] == 3 && tried && log("status=delivered").await["total"] == 5).then_some(())
    })
    .await;
    eventually("three to be measured as owed", async || {
        let owed = gateway.measured("quipu_webhooks_owed").await;
        (2.5..3.5).contains(&owed).then_some(())
    })
    .await;
    for (query, total) in [
        ("", 8),
        ("status=failed", 0),
        ("limit=3&offset=6", 8),
        ("created_at_from=2020-01-01", 8),
        ("created_at_to=2020-01-01", 0),
        ("created_at_from=2020-01-01&status=pending", 3),
        ("created_at_from=2020-01-01&status=delivered", 5),
    ] {
        assert_eq!(log(query).await["total"], total, "{query}");
    }
    let page = log("limit=3&offset=6").await;
    assert_eq!(page["data"].as_array().expect("a list").len(), 2);
    let all = log("limit=100").await;
    let at = |event: &Value| event["created_at"].as_str().expect("a time").to_owned();
    let times: Vec<_> = all["data"].as_array().expect("a list").iter().map(at).collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "newest first: {times:?}");
    let pending = &all["data"][0];
    assert_eq!((&pending["status"], &pending["type"]), (&json!("pending"), &json!("payment.created")));
    assert_eq!(pending["next_attempt_at"], pending["attempts"][0]["next_attempt_at"]);
}

async fn retries_take_what_they_name(database: Database) {
    let gateway = impatient(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::status(500));
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    for _ in 0..4 {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    let failed = eventually("all to fail", async || {
        let list = merchant.api.get(&path_of(&made, "/events?status=failed")).await.ok();
        (list["total"] == 4).then_some(list["data"].as_array().expect("a list").clone())
    })
    .await;
    receiver.behave("/a", Behaviour::status(200));
    let retry = async |body: Value| merchant.api.post(&path_of(&made, "/retry"), &body).await.data();
    let (first, second) = (failed[0]["id"].clone(), failed[1]["id"].clone());
    assert_eq!(retry(json!({ "event_ids": [first, "evt_of_nobody"] })).await["retried"], 1);
    assert_eq!(retry(json!({ "until": "2020-01-01" })).await["retried"], 0);
    assert_eq!(retry(json!({ "since": failed[1]["created_at"], "event_ids": [second] })).await["retried"], 1);
    assert_eq!(retry(json!({})).await["retried"], 2);
    eventually("all to be delivered", async || {
        let list = merchant.api.get(&path_of(&made, "/events?status=delivered")).await.ok();
        (list["total"] == 4).then_some(())
    })
    .await;
    assert_eq!(merchant.api.get(&path_of(&made, "/events?status=failed")).await.ok()["total"], 0);
}

async fn finished_deliveries_are_forgotten(database: Database) {
    let gateway = Setup::new(database)
        .set("WEBHOOKS__KEEP_FOR", "1s")
        .set("WEBHOOKS__RETRY_SCHEDULE", "1h")
        .start()
        .await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let well = endpoint(&merchant.api, &receiver.url("/well"), &["payment.created"]).await;
    let ill = endpoint(&merchant.api, &receiver.url("/ill"), &["payment.created"]).await;
    receiver.behave("/ill", Behaviour::status(500));
    merchant.create(&draft::deposit_mxn(100)).await;
    receiver.wait_for("/well", 1).await;
    eventually("what is finished to be forgotten", async || {
        (merchant.api.get(&path_of(&well, "/events")).await.ok()["total"] == 0).then_some(())
    })
    .await;
    assert_eq!(merchant.api.get(&path_of(&ill, "/events?status=pending")).await.ok()["total"], 1);
}
