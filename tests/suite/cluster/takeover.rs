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
use reqwest::Method;
use serde_json::json;

use super::in_hand::Node;

on_both_databases!(
    what_a_dead_node_had_in_hand_goes_on_in_time,
    deposits_that_wait_for_a_dead_node_get_their_instructions_in_time,
);

/// Within which the work of a dead node is taken over.
const SOON: Duration = Duration::from_secs(10);
/// Within which a process that is ready again goes on where the last one ended: sooner than after the silence that shows
/// others that a node is dead.
const AT_ONCE: Duration = Duration::from_secs(5);
/// How often a scenario is begun anew that came to its right end too late: the bounds leave little to a machine that is
/// busy with something else at that moment.
const TRIES: usize = 3;

/// Holds that a scenario, which answers how long the work of a dead node took, has it done in time.
async fn in_time(database: Database, scenario: impl AsyncFn() -> Duration) {
    let soon = if database == Database::Sqlite { AT_ONCE } else { SOON };
    let mut took = Vec::new();
    for _ in 0..TRIES {
        took.push(scenario().await);
        if took.last() < Some(&soon) {
            return;
        }
    }
    panic!("{took:?}");
}

async fn what_a_dead_node_had_in_hand_goes_on_in_time(database: Database) {
    in_time(database, async || what_a_dead_node_had_in_hand_goes_on(database).await).await;
}

/// Answers how long it took until all of it was done.
async fn what_a_dead_node_had_in_hand_goes_on(database: Database) -> Duration {
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

    let mut lost = Instant::now();
    gateway.kill();
    receiver.behave("/hook", Behaviour::status(200));
    for endpoint in [Endpoint::Status, Endpoint::Payouts] {
        provider.forget_plans(endpoint);
    }
    provider.settle(&asked, "completed");
    if other.is_none() {
        gateway.restart().await;
        lost = Instant::now();
    }
    let alive = other.as_ref().unwrap_or(&gateway);
    let merchant = merchant.moved_to(alive);
    let order = eventually("the payout to be handed over", async || provider.order(&sent)).await;
    for id in [&asked, &due_soon] {
        merchant.wait_for(id, "completed").await;
    }
    eventually("what was owed to be delivered", async || {
        let again = receiver.deliveries("/hook").split_off(in_vain);
        let ids: BTreeSet<_> = again.iter().map(|delivery| delivery.header("webhook-id")).collect();
        (ids.len() as u64 == owed).then_some(())
    })
    .await;
    let took = lost.elapsed();
    assert_eq!((order.times, provider.order(&asked).expect("taken on").times), (1, 1));
    alive.check();
    took
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

/// The schedule of questions is the usual one, which begins after a minute.
async fn deposits_that_wait_for_a_dead_node_get_their_instructions_in_time(database: Database) {
    in_time(database, async || instructions_come(database, false).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposits_get_their_instructions_in_time_from_the_only_node_once_it_is_back() {
    in_time(Database::Postgres, async || instructions_come(Database::Postgres, true).await).await;
}

/// A node dies while it asks for the instructions of two deposits. The provider knows one of them. Answers how long it took
/// until both had theirs.
async fn instructions_come(database: Database, is_alone: bool) -> Duration {
    let provider = Provider::start().await;
    let mut gateway = provider.configure(Setup::new(database)).start().await;
    let other = if is_alone { None } else { gateway.second_node().await };
    let merchant = gateway.merchant().await;
    merchant.edit_routes(|route| route["rail"] = json!(provider.rail())).await;
    let mut asked = Vec::new();
    for (count, behaviour) in [(1, Answers::Hang), (2, Answers::TakeAndHang)] {
        provider.always(Endpoint::Instructions, behaviour);
        let (api, key, body) = (merchant.api.clone(), draft::reference(), draft::deposit_mxn(100));
        asked.push((key.clone(), body.clone()));
        tokio::spawn(async move {
            let (sent, headers) = (body.to_string().into_bytes(), [("Idempotency-Key", key.as_str())]);
            // Nobody will be left to answer it.
            drop(api.try_send(Method::POST, "/api/v1/payments", Some(sent), &headers).await);
        });
        eventually("the provider to be called", async || {
            (provider.calls(Endpoint::Instructions) == count).then_some(())
        })
        .await;
    }

    gateway.kill();
    provider.forget_plans(Endpoint::Instructions);
    let mut lost = Instant::now();
    if other.is_none() {
        gateway.restart().await;
        lost = Instant::now();
    }
    let alive = other.as_ref().unwrap_or(&gateway);
    let merchant = merchant.moved_to(alive);
    let payments = eventually("both to have their instructions", async || {
        let listed = merchant.api.get("/api/v1/payments?limit=100").await.ok();
        let payments = listed["data"].as_array().expect("a list").clone();
        payments.iter().all(|payment| payment["bank_details"].is_object()).then_some(payments)
    })
    .await;
    let took = lost.elapsed();
    assert_eq!((payments.len(), provider.orders().len()), (2, 2), "one reference for each payment");
    for (key, body) in asked {
        let repeated =
            merchant.api.post_with("/api/v1/payments", &body, &[("Idempotency-Key", &key)]).await.ok();
        let id = repeated["transaction_id"].as_str().expect("an identifier");
        assert!(repeated["bank_details"].is_object() && provider.order(id).is_some(), "{repeated}");
    }
    alive.check();
    took
}
