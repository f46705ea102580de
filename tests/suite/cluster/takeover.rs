//! A node that dies with work in its hands: another one goes on with all of it within ten seconds, and on SQLite the
//! next process of the same file at once.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use quipu_tests::{
    Behaviour, Database, Gateway, Merchant, Receiver, Setup, draft, eventually, on_both_databases,
    provider::{Behaviour as Answers, Endpoint, Provider},
};
use serde_json::json;

use super::in_hand::Node;

on_both_databases!(what_a_dead_node_had_in_hand_goes_on_in_time);

/// Within which the work of a dead node is taken over.
const SOON: Duration = Duration::from_secs(10);
/// Within which a process that is ready again goes on where the last one ended: sooner than after the silence that shows
/// others that a node is dead.
const AT_ONCE: Duration = Duration::from_secs(5);

async fn what_a_dead_node_had_in_hand_goes_on_in_time(database: Database) {
    let (provider, receiver) = (Provider::start().await, Receiver::start().await);
    let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "200ms");
    let mut gateway = setup.set("SIMULATOR__DELAY", "4s").start().await;
    let node = Node::alone(&gateway);
    let other = gateway.second_node().await;
    let merchant = merchant_at(&gateway, &provider, &receiver).await;
    receiver.behave("/hook", Behaviour::Hang);
    for endpoint in [Endpoint::Status, Endpoint::Payouts] {
        provider.always(endpoint, Answers::Hang);
    }
    let (asked, sent) = if other.is_some() {
        node.knows_of_another().await;
        let asked = node.claims(&merchant, || draft::deposit_mxn(100)).await;
        (asked, node.claims(&merchant, || draft::withdrawal_ars(100)).await)
    } else {
        (merchant.create(&draft::deposit_mxn(100)).await, merchant.create(&draft::withdrawal_ars(100)).await)
    };
    for endpoint in [Endpoint::Status, Endpoint::Payouts] {
        eventually("the provider to be called", async || (provider.calls(endpoint) > 0).then_some(())).await;
    }
    let due_soon = merchant.create(&draft::deposit("AUD", "payid", 100)).await;
    let owed = merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"].as_u64().expect("a number");
    let in_vain = receiver.wait_for("/hook", 3).await.len();

    let mut lost = (Instant::now(), SOON);
    gateway.kill();
    receiver.behave("/hook", Behaviour::status(200));
    for endpoint in [Endpoint::Status, Endpoint::Payouts] {
        provider.forget_plans(endpoint);
    }
    provider.settle(&asked, "completed");
    if other.is_none() {
        gateway.restart().await;
        lost = (Instant::now(), AT_ONCE);
    }
    let (lost, soon) = lost;
    let alive = other.as_ref().unwrap_or(&gateway);
    let merchant = merchant.moved_to(alive);
    let order = eventually("the payout to be handed over", async || provider.order(&sent)).await;
    let submitted = lost.elapsed();
    for id in [&asked, &due_soon] {
        merchant.wait_for(id, "completed").await;
    }
    let settled = lost.elapsed();
    eventually("what was owed to be delivered", async || {
        let again = receiver.deliveries("/hook").split_off(in_vain);
        let ids: BTreeSet<_> = again.iter().map(|delivery| delivery.header("webhook-id")).collect();
        (ids.len() as u64 == owed).then_some(())
    })
    .await;
    let took = [submitted, settled, lost.elapsed()];
    assert!(took.iter().max() < Some(&soon), "submitted, settled, delivered: {took:?}");
    assert_eq!((order.times, provider.order(&asked).expect("taken on").times), (1, 1));
    alive.check();
}

/// A merchant whose payments go over the provider, except those in Australian dollars, and whose endpoint hears of each.
async fn merchant_at(gateway: &Gateway, provider: &Provider, receiver: &Receiver) -> Merchant {
    let merchant = gateway.merchant().await;
    merchant
        .edit_routes(|route| {
            if route["currency"] != "AUD" {
                route["rail"] = json!(provider.rail());
            }
        })
        .await;
    merchant.fund("ARS", 1_000_000).await;
    let endpoint = json!({ "url": receiver.url("/hook"), "events": ["payment.created"] });
    merchant.api.post("/api/v1/webhooks", &endpoint).await.data();
    merchant
}
