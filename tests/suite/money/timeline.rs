//! What staff see of one payment's life.

use quipu_tests::{Behaviour, Database, Receiver, Setup, draft, eventually, on_both_databases};
use serde_json::{Value, json};

use super::seen;

on_both_databases!(a_timeline_tells_statuses_and_who_heard_of_them);

async fn a_timeline_tells_statuses_and_who_heard_of_them(database: Database) {
    let gateway = Setup::new(database).set("WEBHOOKS__RETRY_SCHEDULE", "50ms,1h").start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/broken", Behaviour::status(500));
    let body = json!({ "url": receiver.url("/broken"), "events": ["payment.completed"] });
    merchant.api.post("/api/v1/webhooks", &body).await.data();
    let mut payment = draft::deposit_mxn(700);
    payment["webhook_url"] = json!(receiver.url("/named"));
    let id = merchant.create(&payment).await;
    merchant.wait_for(&id, "completed").await;
    // Others' deliveries are not among them.
    merchant.create(&draft::deposit_mxn(700)).await;

    let view = eventually("three deliveries with their attempts", async || {
        let view = seen(&gateway, &id).await;
        let deliveries = view["timeline"]["deliveries"].as_array().expect("deliveries");
        let attempts = |delivery: &Value| delivery["attempts"].as_array().map_or(0, Vec::len);
        let told = deliveries.iter().filter(|delivery| delivery["status"] == "delivered").count();
        let tried = deliveries.iter().any(|delivery| attempts(delivery) == 2);
        (told == 2 && tried).then_some(view)
    })
    .await;
    let timeline = &view["timeline"];
    let statuses: Vec<_> = timeline["statuses"]
        .as_array()
        .expect("statuses")
        .iter()
        .map(|line| json!([line["previous_status"], line["status"], line["status_version"]]))
        .collect();
    assert_eq!(statuses, [json!([null, "processing", 1]), json!(["processing", "completed", 2])]);
    let deliveries = timeline["deliveries"].as_array().expect("deliveries");
    assert_eq!(deliveries.len(), 3, "{timeline}");
    let failing = deliveries.iter().find(|it| it["url"] == receiver.url("/broken")).expect("the broken one");
    assert_eq!((&failing["status"], &failing["attempts"][1]["number"]), (&json!("pending"), &json!(2)));
    assert_eq!(failing["attempts"][0]["http_status"], 500);
    assert!(failing["next_attempt_at"].is_string() && failing["endpoint_id"].is_string(), "{failing}");
    let events = timeline["events"].as_array().expect("events");
    let completed = events.iter().find(|event| event["type"] == "payment.completed").expect("an event");
    assert_eq!(failing["event_id"], completed["id"]);

    // The shell shows the same.
    let shown: Value = serde_json::from_str(gateway.run(&["payment", "show", &id]).ok()).expect("JSON");
    assert_eq!(shown["timeline"]["deliveries"].as_array().map(Vec::len), Some(3), "{shown}");
}
