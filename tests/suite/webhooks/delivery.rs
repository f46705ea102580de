//! What arrives where, how it is signed, and what happens when it does not arrive.

use std::time::Duration;

use quipu_tests::{Behaviour, Database, Gateway, Receiver, Setup, draft, eventually, on_both_databases};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{endpoint, impatient, path_of};

on_both_databases!(
    a_payments_events_arrive_signed_and_in_full,
    each_endpoint_hears_its_subscription,
    a_failed_delivery_is_tried_again_by_the_schedule,
    a_receiver_may_ask_for_time,
    a_receiver_that_is_gone_is_disabled_at_once,
    an_endpoint_that_fails_for_too_long_is_disabled,
    private_addresses_are_refused_unless_allowed,
    a_test_is_sent_at_once_and_answers_its_attempt,
    a_hanging_endpoint_delays_no_other,
);

async fn a_payments_events_arrive_signed_and_in_full(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let both = ["payment.created", "payment.completed"];
    let replaced = endpoint(&merchant.api, &receiver.url("/a"), &both).await;
    // A secret is rotated by another endpoint at the same address.
    let made = endpoint(&merchant.api, &receiver.url("/a"), &both).await;
    assert!(made["id"] != replaced["id"] && made["secret"] != replaced["secret"], "{made}");
    merchant.api.delete(&path_of(&replaced, "")).await.data();
    let id = merchant.create(&draft::deposit_mxn(100_000)).await;
    let deliveries = receiver.wait_for("/a", 2).await;
    let secret = made["secret"].as_str().expect("a secret");
    let mut seen: Vec<(i64, String)> = Vec::new();
    for delivery in &deliveries {
        assert!(delivery.is_signed_with(secret), "{delivery:?}");
        let told = delivery.json();
        assert_eq!(delivery.header("webhook-id"), told["id"]);
        assert_eq!(delivery.header("content-type"), "application/json");
        assert_eq!((&told["merchant_id"], &told["environment"]), (&json!(merchant.id), &json!("test")));
        assert_eq!(told["data"]["payment"]["transaction_id"], id);
        let version = told["data"]["status_version"].as_i64().expect("a number");
        assert_eq!(told["data"]["payment"]["status_version"], version);
        seen.push((version, delivery.event_type()));
    }
    seen.sort();
    assert_eq!(seen, [(1, "payment.created".to_owned()), (2, "payment.completed".to_owned())]);
    let logged = merchant.api.get(&path_of(&made, "/events")).await.ok();
    assert_eq!((&logged["total"], receiver.count("/a")), (&json!(2), 2));
}

async fn each_endpoint_hears_its_subscription(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    merchant.fund("ARS", 1_000_000).await;
    let payouts = ["payout.created", "payout.completed", "payout.failed", "payment.processing"];
    endpoint(&merchant.api, &receiver.url("/payouts"), &payouts).await;
    let disabled = endpoint(&merchant.api, &receiver.url("/disabled"), &payouts).await;
    merchant.api.put(&path_of(&disabled, "/disable"), &json!({})).await.data();
    let changed = endpoint(&merchant.api, &receiver.url("/changed"), &["payment.completed"]).await;
    let change = json!({ "events": ["payment.created"] });
    merchant.api.put(&path_of(&changed, ""), &change).await.data();
    let other = gateway.merchant().await;
    let others = endpoint(&other.api, &receiver.url("/other"), &payouts).await;
    merchant.create(&draft::withdrawal_ars(1_000)).await;
    let mut heard: Vec<_> =
        receiver.wait_for("/payouts", 3).await.iter().map(quipu_tests::Delivery::event_type).collect();
    heard.sort();
    assert_eq!(heard, ["payment.processing", "payout.completed", "payout.created"]);
    // The commit of an event makes its deliveries, so that none can follow.
    assert_eq!(merchant.api.get(&path_of(&disabled, "/events")).await.ok()["total"], 0);
    assert_eq!(receiver.wait_for("/changed", 1).await[0].event_type(), "payment.created");
    assert_eq!(merchant.api.get(&path_of(&changed, "/events")).await.ok()["total"], 1);
    assert_eq!(other.api.get(&path_of(&others, "/events")).await.ok()["total"], 0);
}

async fn a_failed_delivery_is_tried_again_by_the_schedule(database: Database) {
    let gateway = impatient(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::Answer(500, String::new(), "out of order".to_owned()));
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&draft::deposit_mxn(100)).await;
    let attempts = receiver.wait_for("/a", 3).await;
    for pair in attempts.windows(2) {
        assert_eq!(pair[0].header("webhook-id"), pair[1].header("webhook-id"));
        assert!(pair[1].at - pair[0].at >= Duration::from_millis(240), "{:?}", pair[1].at - pair[0].at);
    }
    let failed = eventually("the delivery to fail", async || {
        let list = merchant.api.get(&path_of(&made, "/events?status=failed")).await.ok();
        (list["total"] == 1).then_some(list)
    });
    let event = &failed.await["data"][0];
    let tried = event["attempts"].as_array().expect("a list");
    assert_eq!(tried.len(), 3, "{event}");
    for (number, attempt) in (1..).zip(tried) {
        assert_eq!((&attempt["number"], &attempt["http_status"]), (&json!(number), &json!(500)));
        assert_eq!(attempt["response_excerpt"], "out of order");
        assert_eq!(attempt["next_attempt_at"].is_null(), number == 3, "{attempt}");
        assert!(attempt["duration_ms"].is_u64() && attempt["started_at"].is_string());
    }

    // The receiver is repaired, and the merchant retries.
    receiver.behave("/a", Behaviour::status(204));
    let retry = merchant.api.post_empty(&path_of(&made, "/retry")).await.data();
    assert_eq!(retry, json!({ "retried": 1 }));
    receiver.wait_for("/a", 4).await;
    let delivered = eventually("the delivery to be recorded", async || {
        let list = merchant.api.get(&path_of(&made, "/events?status=delivered")).await.ok();
        (list["total"] == 1).then_some(list)
    });
    let attempts = delivered.await["data"][0]["attempts"].as_array().expect("a list").clone();
    assert_eq!(attempts.last().expect("some")["number"], 4);
    assert_eq!(receiver.count("/a"), 4, "the retry is the fourth attempt, and none came before it");
    let again = merchant.api.post(&path_of(&made, "/retry"), &json!({})).await.data();
    assert_eq!(again, json!({ "retried": 0 }));
}

async fn a_receiver_may_ask_for_time(database: Database) {
    let gateway = Setup::new(database).set("WEBHOOKS__RETRY_SCHEDULE", "2s").start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::Answer(503, "Retry-After: 3\r\n".to_owned(), String::new()));
    endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&draft::deposit_mxn(100)).await;
    let attempts = receiver.wait_for("/a", 2).await;
    let gap = attempts[1].at - attempts[0].at;
    assert!(gap >= Duration::from_millis(2_950), "{gap:?}");
}

async fn a_receiver_that_is_gone_is_disabled_at_once(database: Database) {
    let gateway = impatient(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::status(410));
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&draft::deposit_mxn(100)).await;
    let disabled = eventually("the endpoint to be disabled", async || {
        let endpoint = merchant.api.get(&path_of(&made, "")).await.data();
        (endpoint["enabled"] == false).then_some(endpoint)
    });
    assert!(disabled.await["disabled_reason"].as_str().expect("a reason").contains("410"));
    eventually("what is owed to it to fail", async || {
        let failed = merchant.api.get(&path_of(&made, "/events?status=failed")).await.ok();
        (failed["total"] == 1).then_some(())
    })
    .await;
    merchant.create(&draft::deposit_mxn(100)).await;
    merchant.api.post(&path_of(&made, "/retry"), &json!({})).await.refused(400, "INVALID_STATUS_TRANSITION");
    assert_eq!(merchant.api.get(&path_of(&made, "/events")).await.ok()["total"], 1, "nothing new is owed");
    assert_eq!(receiver.count("/a"), 1);
    let enabled = merchant.api.put(&path_of(&made, "/enable"), &json!({})).await.data();
    assert_eq!((&enabled["enabled"], &enabled["disabled_reason"]), (&json!(true), &Value::Null));
}

async fn an_endpoint_that_fails_for_too_long_is_disabled(database: Database) {
    let setup =
        Setup::new(database).set("WEBHOOKS__RETRY_SCHEDULE", "200ms,1h").set("WEBHOOKS__DISABLE_AFTER", "2s");
    let gateway = setup.start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::status(500));
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.create(&draft::deposit_mxn(100)).await;
    let disabled = eventually("the endpoint to be disabled", async || {
        let endpoint = merchant.api.get(&path_of(&made, "")).await.data();
        (endpoint["enabled"] == false).then_some(endpoint)
    });
    assert!(disabled.await["disabled_reason"].is_string());
    let failed = eventually("what was owed to fail", async || {
        let list = merchant.api.get(&path_of(&made, "/events?status=failed")).await.ok();
        (list["total"] == 1).then_some(list)
    });
    assert_eq!(failed.await["data"][0]["error"], "endpoint disabled");
}

async fn private_addresses_are_refused_unless_allowed(database: Database) {
    let gateway = Setup::new(database)
        .set("WEBHOOKS__ALLOW_PRIVATE", "false")
        .set("WEBHOOKS__RETRY_SCHEDULE", "200ms")
        .start()
        .await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let port = receiver.url("").rsplit_once(':').expect("a port").1.to_owned();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "10.0.0.1"] {
        let made = endpoint(&merchant.api, &format!("http://{host}:{port}/a"), &["payment.created"]).await;
        let sample = json!({ "event_type": "payment.created" });
        let attempt = merchant.api.post(&path_of(&made, "/test"), &sample).await.data();
        assert_eq!(attempt["error"], "the address is not allowed", "{host}: {attempt}");
        assert_eq!((&attempt["http_status"], &attempt["response_excerpt"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(receiver.count("/a"), 0);
}

async fn a_test_is_sent_at_once_and_answers_its_attempt(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let made = endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    merchant.api.put(&path_of(&made, "/disable"), &json!({})).await.data();
    for (number, name) in (1..).zip(["payment.created", "payout.failed", "ticket.comment_added"]) {
        let attempt =
            merchant.api.post(&path_of(&made, "/test"), &json!({ "event_type": name })).await.data();
        assert_eq!((&attempt["number"], &attempt["http_status"]), (&json!(1), &json!(200)));
        assert!(attempt["error"].is_null() && attempt["duration_ms"].is_u64(), "{attempt}");
        let sample = receiver.wait_for("/a", number).await.pop().expect("the last");
        assert_eq!(sample.event_type(), name);
        assert!(sample.is_signed_with(made["secret"].as_str().expect("a secret")));
    }
    receiver.behave("/a", Behaviour::status(503));
    let sample = json!({ "event_type": "payment.created" });
    let attempt = merchant.api.post(&path_of(&made, "/test"), &sample).await.data();
    assert_eq!(attempt["http_status"], 503);
}

async fn a_hanging_endpoint_delays_no_other(database: Database) {
    // So few that they are delivered long before an attempt reaches its limit of time, and so many that they outnumber its places.
    const FIRST: usize = 20;
    const PAYMENTS: usize = 100;
    let setup = Setup::new(database).set("SIMULATOR__DELAY", "1h").set("LOG__FORMAT", "json");
    let gateway = setup.start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    for path in ["/fails", "/well"] {
        endpoint(&merchant.api, &receiver.url(path), &["payment.created"]).await;
    }
    let hanging = endpoint(&merchant.api, &receiver.url("/hangs"), &["payment.created"]).await;
    receiver.behave("/hangs", Behaviour::Hang);
    receiver.behave("/fails", Behaviour::status(500));
    let create = async |count: usize| {
        let mut creations = JoinSet::new();
        for _ in 0..count {
            let merchant = merchant.clone();
            creations.spawn(async move { merchant.create(&draft::deposit_mxn(100)).await });
        }
        creations.join_all().await;
    };
    create(FIRST).await;
    receiver.wait_for("/well", FIRST).await;
    // No attempt that hangs has reached its limit of time yet, so that nothing waited for one.
    let log = merchant.api.get(&path_of(&hanging, "/events?limit=100")).await.ok();
    let events = log["data"].as_array().expect("a list");
    assert_eq!(events.len(), FIRST);
    assert!(events.iter().all(|event| event["attempts"].as_array().is_some_and(Vec::is_empty)), "{log}");
    assert!(receiver.count("/hangs") <= 8, "an endpoint that has never answered gets a few places");
    create(PAYMENTS - FIRST).await;
    receiver.wait_for("/well", PAYMENTS).await;
    eventually("what hangs to be measured as due", async || {
        (gateway.measured("quipu_webhooks_oldest_seconds").await > 0.0).then_some(())
    })
    .await;
}
