//! The ten operations, their refusals, and what the operator configures.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use super::{endpoint, path_of};

on_both_databases!(
    an_endpoint_is_made_read_changed_and_removed,
    nobody_sees_another_merchants_endpoints,
    a_merchant_has_fifty_endpoints_at_most,
    the_operator_configures_endpoints,
);

const DEFAULTS: [&str; 4] = ["payment.created", "payment.completed", "payment.failed", "payment.refunded"];

async fn an_endpoint_is_made_read_changed_and_removed(database: Database) {
    let gateway = Gateway::start(database).await;
    let api = gateway.merchant().await.api;
    let made = api.post("/webhooks", &json!({ "url": "https://a.example/hook" })).await.data();
    assert_eq!(made["events"], json!(DEFAULTS));
    assert_eq!((&made["enabled"], &made["source"]), (&json!(true), &json!("admin")));
    assert_eq!((&made["description"], &made["disabled_reason"]), (&Value::Null, &Value::Null));
    let secret = made["secret"].as_str().expect("shown once");
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "{secret}");

    let read = api.get(&path_of(&made, "")).await.data();
    let mut without_secret = made.clone();
    without_secret.as_object_mut().expect("an object").remove("secret");
    assert_eq!(read, without_secret);
    let change = json!({ "events": ["ticket.created"], "description": "tickets" });
    let changed = api.put(&path_of(&made, ""), &change).await.data();
    assert_eq!((&changed["events"], &changed["description"]), (&change["events"], &change["description"]));
    assert_eq!(changed["url"], made["url"]);
    let moved = api.put(&path_of(&made, ""), &json!({ "url": "https://a.example/moved" })).await.data();
    assert_eq!((&moved["events"], &moved["description"]), (&change["events"], &change["description"]));
    assert_eq!(moved["url"], "https://a.example/moved");
    assert_eq!(api.get(&path_of(&made, "")).await.data(), moved);
    let without_body =
        async |rest: &str| api.send(Method::PUT, &path_of(&made, rest), None, &[]).await.data();
    assert_eq!(without_body("/disable").await["enabled"], false);
    assert_eq!(without_body("/enable").await["enabled"], true);

    let other = endpoint(&api, "https://b.example", &["payout.failed"]).await;
    let list = api.get("/api/v1/webhooks").await.ok();
    let ids: Vec<_> = list["data"].as_array().expect("a list").iter().map(|it| it["id"].clone()).collect();
    assert_eq!((ids, &list["total"]), (vec![other["id"].clone(), made["id"].clone()], &json!(2)));
    api.delete(&path_of(&made, "")).await.data();
    for path in ["", "/events"] {
        api.get(&path_of(&made, path)).await.refused(404, "WEBHOOK_NOT_FOUND");
    }
    assert_eq!(api.get("/webhooks").await.ok()["total"], 1);

    let own = format!("whsec_{}", "QUJD".repeat(8));
    let wishes = json!({ "url": "https://c.example", "secret": own, "description": "with its own secret" });
    let made = api.post("/webhooks", &wishes).await.data();
    assert_eq!(made["secret"], own);
    assert_eq!(api.get(&path_of(&made, "")).await.data()["description"], wishes["description"]);
}

/// Every wrong value has its row in `crates/adapters/http/tests/edge/tables.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_wrong_with_a_request_is_named() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let api = gateway.merchant().await.api;
    for (member, wrong) in [("url", json!("ftp://a.example")), ("events", json!(["payment.paid"]))] {
        let mut body = json!({ "url": "https://a.example" });
        body[member] = wrong;
        api.post("/api/v1/webhooks", &body).await.invalid(member);
    }
    let made = endpoint(&api, "https://a.example", &DEFAULTS).await;
    api.put(&path_of(&made, ""), &json!({ "url": "a.example" })).await.invalid("url");
    api.get("/webhooks/00000000-0000-7000-8000-000000000000").await.refused(404, "WEBHOOK_NOT_FOUND");
    let live = gateway.merchant().await.key(&json!({ "environment": "live" })).await;
    live.post("/webhooks", &json!({ "url": "http://a.example" })).await.invalid("url");
    live.post("/webhooks", &json!({ "url": "https://a.example" })).await.data();
}

async fn nobody_sees_another_merchants_endpoints(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let live = owner.key(&json!({ "environment": "live" })).await;
    let made = endpoint(&owner.api, "https://a.example", &DEFAULTS).await;
    for stranger in [&other.api, &live] {
        assert_eq!(stranger.get("/webhooks").await.ok()["total"], 0);
        for answer in [
            stranger.get(&path_of(&made, "")).await,
            stranger.get(&path_of(&made, "/events")).await,
            stranger.put(&path_of(&made, ""), &json!({ "url": "x" })).await,
            stranger.put(&path_of(&made, "/disable"), &json!({})).await,
            stranger.put(&path_of(&made, "/enable"), &json!({})).await,
            stranger.post(&path_of(&made, "/retry"), &json!({})).await,
            stranger.post(&path_of(&made, "/test"), &json!({ "event_type": "payment.created" })).await,
            stranger.delete(&path_of(&made, "")).await,
        ] {
            answer.refused(404, "WEBHOOK_NOT_FOUND");
        }
    }
    assert_eq!(owner.api.get(&path_of(&made, "")).await.data()["enabled"], true);
}

async fn a_merchant_has_fifty_endpoints_at_most(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    // An endpoint that a payment names for itself takes none of the places.
    let mut naming = draft::steered(draft::deposit_mxn(100), "stay");
    naming["webhook_url"] = json!("https://named.example");
    naming["webhook_events"] = json!(["payment.failed"]);
    merchant.create(&naming).await;
    let mut made = Value::Null;
    for number in 0..50 {
        made = endpoint(&merchant.api, &format!("https://{number}.example"), &DEFAULTS).await;
    }
    let one_more = json!({ "url": "https://more.example" });
    merchant.api.post("/webhooks", &one_more).await.refused(400, "LIMIT_REACHED");
    let all = merchant.api.get("/webhooks?limit=100").await.ok();
    assert_eq!((all["data"].as_array().map(Vec::len), &all["total"]), (Some(50), &json!(50)));
    merchant.api.get("/webhooks?limit=101").await.invalid("limit");
    merchant.api.delete(&path_of(&made, "")).await.data();
    merchant.api.post("/webhooks", &one_more).await.data();
    merchant.api.post("/webhooks", &one_more).await.refused(400, "LIMIT_REACHED");
    merchant.key(&json!({ "environment": "live" })).await.post("/webhooks", &one_more).await.data();
}

async fn the_operator_configures_endpoints(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let path = merchant.operator_path("/webhooks");
    operator.post(&path, &json!({ "url": "https://a.example" })).await.invalid("environment");
    let body = json!({ "environment": "test", "url": "https://a.example", "events": ["payout.created"] });
    let made = operator.post(&path, &body).await.data();
    assert!(made["secret"].is_string());
    let seen = merchant.api.get(&path_of(&made, "")).await.data();
    assert_eq!((&seen["source"], &seen["events"]), (&json!("admin"), &body["events"]));
    assert_eq!(operator.get(&format!("{path}?environment=test")).await.ok()["total"], 1);
    assert_eq!(operator.get(&path).await.ok()["total"], 0);
    let log = operator.get("/operator/v1/audit-log?limit=1").await.ok();
    assert_eq!(log["data"][0]["action"], "webhook.create", "{log}");
    assert!(!log.to_string().contains("whsec_"));
    operator.post("/operator/v1/merchants/999/webhooks", &body).await.refused(404, "MERCHANT_NOT_FOUND");
}
