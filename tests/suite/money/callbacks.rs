//! Callbacks of providers: verified, stored once, applied once, in any order.

use std::time::Duration;

use quipu_kernel::{Clock, SystemClock, Timestamp};
use quipu_tests::{
    Database, Gateway, Merchant, Setup, draft, eventually, on_both_databases, provider::Provider,
};
use serde_json::{Value, json};

use super::{events, merchant_on, seen};

on_both_databases!(
    a_callback_completes_a_deposit_once_however_often_it_comes,
    a_callback_that_is_not_signed_is_not_believed,
    money_that_does_not_match_is_parked,
    an_event_about_nobody_is_parked_and_answered,
    late_money_is_credited,
    a_return_before_its_completion_counts_as_both,
    a_return_after_its_completion_gives_the_money_back,
    a_failure_is_told,
    a_contradiction_is_parked,
    callbacks_have_a_budget_that_strangers_cannot_use_up,
);

async fn world(database: Database) -> (Gateway, Provider, Merchant) {
    let provider = Provider::start().await;
    let gateway = provider.configure(Setup::new(database)).set("LOG__FORMAT", "json").start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    (gateway, provider, merchant)
}

/// A withdrawal that the provider has taken on.
async fn submitted(merchant: &Merchant, provider: &Provider) -> String {
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    eventually("the provider to take it on", async || provider.order(&id)).await;
    merchant.wait_for(&id, "processing").await;
    id
}

async fn a_callback_completes_a_deposit_once_however_often_it_comes(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    let event = provider.event("payment.completed", &id);
    let (gate, anonymous) = (&provider, gateway.anonymous());
    let calls = (0..10).map(|_| gate.call_back(&anonymous, &event));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.status, 200, "{answer}");
    }
    let mut other_name = event.clone();
    other_name["id"] = json!("told again under another name");
    assert_eq!(provider.call_back(&anonymous, &other_name).await.data()["outcome"], "known");
    let record = merchant.api.payment(&id).await;
    assert_eq!((&record["status"], &record["status_version"]), (&json!("completed"), &json!(2)));
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    let view = seen(&gateway, &id).await;
    assert_eq!(events(&view, "payment.completed"), 1);
    assert_eq!(view["timeline"]["callbacks"].as_array().map(Vec::len), Some(2), "{view}");
    gateway.check();
}

async fn a_callback_that_is_not_signed_is_not_believed(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    let event = provider.event("payment.completed", &id);
    let (anonymous, now) = (gateway.anonymous(), SystemClock.now());
    let forged = provider.call_back_with(&anonymous, &event.to_string(), now, "v1,AAAA").await;
    forged.refused(401, "SIGNATURE_INVALID");
    for at in [now.minus(Duration::from_secs(310)), now.plus(Duration::from_secs(310))] {
        provider.call_back_at(&anonymous, &event, at).await.refused(401, "TIMESTAMP_OUT_OF_WINDOW");
    }
    let path = format!("/api/v1/providers/{}/callbacks", provider.name());
    anonymous.post(&path, &event).await.refused(401, "SIGNATURE_MISSING");
    anonymous.post("/api/v1/providers/nobody/callbacks", &event).await.refused(404, "ROUTE_NOT_FOUND");
    anonymous.post("/api/v1/providers/simulator/callbacks", &event).await.refused(404, "ROUTE_NOT_FOUND");
    let mut malformed = event.clone();
    malformed["amount"] = json!("1000");
    provider.call_back(&anonymous, &malformed).await.invalid("amount");
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    gateway.check();
}

async fn money_that_does_not_match_is_parked(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    for (member, value, reason) in
        [("amount", json!(999), "amount_mismatch"), ("currency", json!("AUD"), "currency_mismatch")]
    {
        let mut event = provider.event("payment.completed", &id);
        event[member] = value;
        for expected in ["parked", "known"] {
            let answer = provider.call_back(&gateway.anonymous(), &event).await.data();
            assert_eq!(answer["outcome"], expected, "{member}");
        }
        let listed = gateway.operator().get(&format!("/operator/v1/receipts?payment_id={id}")).await.ok();
        assert_eq!(listed["data"][0]["reason"], reason);
    }
    let listed =
        gateway.operator().get(&format!("/operator/v1/receipts?merchant_id={}", merchant.id)).await.ok();
    assert_eq!(listed["total"], 2);
    let parked = gateway.measured("quipu_receipts_parked_total").await;
    assert!((1.5..2.5).contains(&parked), "two receipts: {parked}");
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    let right = provider.event("payment.completed", &id);
    assert_eq!(provider.call_back(&gateway.anonymous(), &right).await.data()["outcome"], "applied");
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    gateway.check();
}

async fn an_event_about_nobody_is_parked_and_answered(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let elsewhere = gateway.merchant().await;
    let other_rail = elsewhere.create(&draft::steered(draft::deposit_mxn(5), "stay")).await;
    for reference in ["pay_1763683200000_222222222222", "not even an id", &other_rail] {
        let mut event = provider.event("payment.completed", reference);
        (event["amount"], event["currency"]) = (json!(5), json!("MXN"));
        let answer = provider.call_back(&gateway.anonymous(), &event).await.data();
        assert_eq!(answer["outcome"], "parked", "{reference}");
    }
    let listed = gateway.operator().get("/operator/v1/receipts").await.ok();
    assert_eq!(listed["total"], 3);
    assert!(listed["data"].as_array().expect("a list").iter().all(|row| row["reason"] == "unknown_payment"));
    assert_eq!(listed["data"][0]["merchant_id"], Value::Null);
    assert_eq!(elsewhere.api.payment(&other_rail).await["status"], "processing", "another rail's payment");
    let id = listed["data"][0]["receipt_id"].as_str().expect("an id");
    let path = format!("/operator/v1/receipts/{id}/resolve");
    let complete = json!({ "action": "complete_with_received_amount" });
    gateway.operator().post(&path, &complete).await.refused(400, "INVALID_STATUS_TRANSITION");
    gateway.operator().post(&path, &json!({ "action": "ignore" })).await.data();
    assert_eq!(merchant.balance("MXN").await, (0, 0));
    gateway.check();
}

async fn late_money_is_credited(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    merchant.edit_routes(|route| route["expires_in"] = json!(1)).await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "expired").await;
    let event = provider.event("payment.completed", &id);
    assert_eq!(provider.call_back(&gateway.anonymous(), &event).await.data()["outcome"], "applied");
    let record = merchant.api.payment(&id).await;
    assert_eq!((&record["status"], &record["late"]), (&json!("completed"), &json!(true)));
    assert_eq!((&record["failure"], &record["status_version"]), (&Value::Null, &json!(3)));
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    gateway.check();
}

async fn a_return_before_its_completion_counts_as_both(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = submitted(&merchant, &provider).await;
    let returned = provider.event("payment.returned", &id);
    assert_eq!(provider.call_back(&gateway.anonymous(), &returned).await.data()["outcome"], "applied");
    let completed = provider.event("payment.completed", &id);
    assert_eq!(provider.call_back(&gateway.anonymous(), &completed).await.data()["outcome"], "known");
    let record = merchant.api.payment(&id).await;
    assert_eq!((&record["status"], &record["status_version"]), (&json!("refunded"), &json!(4)));
    assert_eq!(record["failure"]["code"], "PAYOUT_RETURNED");
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn a_return_after_its_completion_gives_the_money_back(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = submitted(&merchant, &provider).await;
    let tell = async |event: &Value| provider.call_back(&gateway.anonymous(), event).await.data();
    assert_eq!(tell(&provider.event("payment.completed", &id)).await["outcome"], "applied");
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    let mut returned = provider.event("payment.returned", &id);
    (returned["code"], returned["message"]) = (json!("CLOSED"), json!("the account is closed"));
    for outcome in ["applied", "known"] {
        assert_eq!(tell(&returned).await["outcome"], outcome);
        let record = merchant.api.payment(&id).await;
        assert_eq!((&record["status"], &record["status_version"]), (&json!("refunded"), &json!(4)));
        assert_eq!(record["failure"]["message"], "the account is closed");
        assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    }
    let view = seen(&gateway, &id).await;
    assert_eq!((events(&view, "payment.completed"), events(&view, "payment.refunded")), (1, 1), "{view}");
    gateway.check();
}

async fn a_failure_is_told(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = submitted(&merchant, &provider).await;
    let mut failed = provider.event("payment.failed", &id);
    (failed["code"], failed["message"]) = (json!("NO_ACCOUNT"), json!("no such account"));
    provider.call_back(&gateway.anonymous(), &failed).await.data();
    let record = merchant.api.payment(&id).await;
    assert_eq!(record["status"], "failed");
    assert_eq!(record["failure"], json!({ "code": "NO_ACCOUNT", "message": "no such account" }));
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn a_contradiction_is_parked(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = submitted(&merchant, &provider).await;
    provider.call_back(&gateway.anonymous(), &provider.event("payment.failed", &id)).await.data();
    let completed = provider.event("payment.completed", &id);
    assert_eq!(provider.call_back(&gateway.anonymous(), &completed).await.data()["outcome"], "parked");
    let listed = gateway.operator().get("/operator/v1/receipts?status=parked").await.ok();
    assert_eq!(listed["data"][0]["reason"], "contradiction");
    assert_eq!(merchant.api.payment(&id).await["status"], "failed");
    gateway.check();
}

async fn callbacks_have_a_budget_that_strangers_cannot_use_up(database: Database) {
    let (provider, other) = (Provider::start().await, Provider::start().await);
    let setup = other.configure(provider.configure(Setup::new(database)));
    let gateway = setup.set("LIMITS__CALLBACKS_PER_MINUTE", "3").start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    let event = provider.event("payment.completed", &id);
    let (anonymous, now): (_, Timestamp) = (gateway.anonymous(), SystemClock.now());
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let answer = provider.call_back_with(&anonymous, &event.to_string(), now, "v1,AAAA").await;
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [401, 401, 401, 429, 429, 429]);
    for expected in [200, 200, 200, 429] {
        assert_eq!(provider.call_back(&anonymous, &event).await.status, expected);
    }
    // The rail of another provider has a budget of its own.
    let mut of_nobody = other.event("payment.completed", "pay_1763683200000_222222222222");
    (of_nobody["amount"], of_nobody["currency"]) = (json!(5), json!("MXN"));
    assert_eq!(other.call_back(&anonymous, &of_nobody).await.data()["outcome"], "parked");
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
}
