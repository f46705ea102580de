//! A node that stands still for so long that another one does its work, and then goes on as if nothing had happened.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use quipu_tests::{
    Behaviour, Database, Gateway, Merchant, Receiver, Setup, draft, eventually,
    provider::{Behaviour as Answers, Endpoint, Provider},
};
use serde_json::{Value, json};

use super::in_hand::Node;

const FUNDS: i64 = 1_000_000;
/// Within which a node must stand still after its first call: it waits for ten seconds for the answer.
const IN_HAND: Duration = Duration::from_secs(8);
/// How often all is begun anew because the machine was too busy for that.
const TRIES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_does_no_harm_when_it_goes_on() {
    for _ in 0..TRIES {
        if stands_still_with_work_in_hand().await {
            return;
        }
    }
    panic!("it never stood still within {IN_HAND:?}");
}

/// Whether it stood still before any of its calls had ended; if not, nothing is held of it.
async fn stands_still_with_work_in_hand() -> bool {
    let (provider, receiver) = (Provider::start().await, Receiver::start().await);
    let setup = provider.configure(Setup::new(Database::Postgres)).set("RAILS__STATUS_SCHEDULE", "300ms");
    let gateway = setup.set("WEBHOOKS__RETRY_SCHEDULE", "300ms,300ms").start().await;
    let (node, other) = (Node::alone(&gateway), gateway.another_node().await);
    node.knows_of_another().await;
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["rail"] = json!(provider.rail())).await;
    merchant.fund("ARS", FUNDS).await;
    receiver.behave("/hook", Behaviour::Wait);
    let endpoint =
        json!({ "url": receiver.url("/hook"), "events": ["payment.created", "payment.completed"] });
    merchant.api.post("/api/v1/webhooks", &endpoint).await.data();

    let begun = Instant::now();
    // One payout was taken on and one was not when the node stands still, and it waits for the answers to both. It also
    // asks about a deposit, and has deliveries under way.
    provider.always(Endpoint::Payouts, Answers::TakeAndWait);
    let taken_on = node.claims(&merchant, || draft::withdrawal_ars(100)).await;
    eventually("the provider to take it on", async || provider.order(&taken_on)).await;
    provider.always(Endpoint::Payouts, Answers::Hang);
    let unheard = node.claims(&merchant, || draft::withdrawal_ars(100)).await;
    eventually("the provider to be called", async || (provider.calls(Endpoint::Payouts) >= 2).then_some(()))
        .await;
    provider.always(Endpoint::Status, Answers::TakeAndWait);
    let asked = node.claims(&merchant, || draft::deposit_mxn(100)).await;
    eventually("the provider to be asked", async || (provider.calls(Endpoint::Status) >= 1).then_some(()))
        .await;
    receiver.wait_for("/hook", 3).await;
    gateway.pause();
    if begun.elapsed() > IN_HAND {
        return false;
    }
    receiver.behave("/hook", Behaviour::status(200));
    for endpoint in [Endpoint::Status, Endpoint::Payouts] {
        provider.forget_plans(endpoint);
    }

    let elsewhere = merchant.moved_to(&other);
    for payment in payments_of(&elsewhere).await {
        let id = payment["transaction_id"].as_str().expect("an id");
        eventually("another node to hand it over", async || provider.order(id)).await;
        provider.settle(id, "completed");
        elsewhere.wait_for(id, "completed").await;
    }
    all_is_told(&elsewhere, &receiver).await;
    // The answers to the node that stood still come now: the provider's say what was true when it asked, and the merchant's
    // that nothing was delivered.
    provider.answer_late();
    receiver.answer_late(500);
    gateway.go_on();
    it_works_on(&gateway, &merchant, &provider).await;
    it_works_on(&other, &elsewhere, &provider).await;
    all_is_told(&merchant, &receiver).await;
    let owed = gateway.query_sql("SELECT COUNT(*) FROM deliveries WHERE status = 0");
    assert_eq!(owed, ["0"], "what was delivered is not owed again");
    everything_happened_once(&merchant, &provider, &receiver, [&taken_on, &unheard, &asked]).await;
    for node in [&gateway, &other] {
        node.assert_no_panic();
    }
    other.check();
    true
}

/// Every payment is completed, under one reference at the provider, and its money has moved once. Those that were in hand
/// when the node stood still are a payout that was taken on, one that was not, and a deposit that was asked about.
async fn everything_happened_once(
    merchant: &Merchant,
    provider: &Provider,
    receiver: &Receiver,
    those_in_hand: [&str; 3],
) {
    let payments = payments_of(merchant).await;
    assert!(payments.iter().all(|payment| payment["status"] == "completed"), "{payments:?}");
    assert_eq!(provider.orders().len(), payments.len(), "one reference for each payment");
    let times = those_in_hand.map(|id| provider.order(id).expect("taken on").times);
    assert_eq!(
        times,
        [2, 1, 1],
        "heard by the provider: by two nodes, by the second alone, and as it was created"
    );
    let sum = |kind: &str| {
        let of_kind = payments.iter().filter(|payment| payment["type"] == kind);
        i64::try_from(of_kind.count()).expect("few") * 100
    };
    assert_eq!(merchant.balance("MXN").await, (sum("deposit"), 0));
    assert_eq!(merchant.balance("ARS").await, (FUNDS - sum("withdrawal"), 0));
    let mut came: BTreeMap<String, usize> = BTreeMap::new();
    for delivery in receiver.deliveries("/hook") {
        *came.entry(delivery.header("webhook-id").to_owned()).or_default() += 1;
    }
    assert_eq!(came.len(), 2 * payments.len());
    assert!(came.values().all(|times| *times <= 2), "sent by each of both nodes at most: {came:?}");
}

async fn payments_of(merchant: &Merchant) -> Vec<Value> {
    let listed = merchant.api.get("/api/v1/payments?limit=100").await.ok();
    listed["data"].as_array().expect("a list").clone()
}

/// Payments that this node is asked for come to their ends.
async fn it_works_on(gateway: &Gateway, merchant: &Merchant, provider: &Provider) {
    for draft in [draft::deposit_mxn(100), draft::withdrawal_ars(100)] {
        let id = merchant.create(&draft).await;
        eventually("the provider to take it on", async || provider.order(&id)).await;
        merchant.wait_for(&id, "processing").await;
        let event = provider.event("payment.completed", &id);
        provider.call_back(&gateway.anonymous(), &event).await.data();
        assert_eq!(merchant.api.payment(&id).await["status"], "completed");
    }
}

/// Every event has been delivered.
async fn all_is_told(merchant: &Merchant, receiver: &Receiver) {
    let payments =
        merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"].as_u64().expect("a number");
    eventually("every event to be delivered", async || {
        let endpoints = merchant.api.get("/api/v1/webhooks").await.ok();
        let id = endpoints["data"][0]["id"].as_str().expect("an endpoint").to_owned();
        let log =
            merchant.api.get(&format!("/api/v1/webhooks/{id}/events?status=delivered&limit=1")).await.ok();
        (log["total"] == 2 * payments).then_some(())
    })
    .await;
    assert!(receiver.count("/hook") as u64 >= 2 * payments);
}
