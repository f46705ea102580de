//! Two and three nodes on one PostgreSQL, one Redis and one bucket, killed in turns while everything is in use:
//! nothing that was acknowledged is lost, and nothing happens twice.

mod bank;
mod in_hand;
mod life;
pub(crate) mod nodes;
mod paused;
mod takeover;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use quipu_tests::{Client, Database, Delivery, Gateway, Merchant, Receiver, Setup, effort, eventually};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::{
    bank::{BANKED, Bank, CURRENCY, PAID_OUT},
    life::{DEPOSITED, ENDS, HOSTED, Life, REFUNDED, WITHDRAWN},
    nodes::Nodes,
};

/// Customers at once.
const LIVES: usize = 4;
/// What each of them does, so many times. Each of the ends that a payout may have comes equally often.
const ROUNDS: usize = ENDS.len();
const KILLS: usize = 3;
const FUNDS: i64 = 1_000_000;
const EVENTS: [&str; 6] = [
    "payment.created",
    "payment.processing",
    "payment.completed",
    "payment.failed",
    "payment.refunded",
    "payment.cancelled",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_that_are_killed_in_turns_lose_nothing_and_do_nothing_twice() {
    killed_in_turns(3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_are_killed_in_turns_lose_nothing_and_do_nothing_twice() {
    killed_in_turns(2).await;
}

async fn killed_in_turns(count: usize) {
    let rounds = ROUNDS * effort();
    let bank = Arc::new(Bank::open(LIVES * rounds).await);
    let mut gateways = vec![bank.configure(cluster()).start().await];
    while gateways.len() < count {
        gateways.push(gateways[0].another_node().await);
    }
    let nodes = Arc::new(Nodes::of(&gateways));
    let (merchant, receiver) = (gateways[0].merchant().await, Receiver::start().await);
    let rail = bank.0.rail();
    merchant
        .edit_routes(|route| {
            if route["currency"] == CURRENCY {
                route["rail"] = json!(rail);
            }
        })
        .await;
    for currency in ["ARS", CURRENCY] {
        merchant.fund(currency, FUNDS).await;
    }
    let endpoint = json!({ "url": receiver.url("/hook"), "events": EVENTS });
    let endpoint = merchant.api.post("/api/v1/webhooks", &endpoint).await.data();

    let mut lives = JoinSet::new();
    for _ in 0..LIVES {
        let life = Life::of(&merchant, &gateways[0].operator(), Arc::clone(&nodes), Arc::clone(&bank));
        lives.spawn(async move { life.live(rounds).await });
    }
    for kill in 0..KILLS * effort() {
        let enough = (kill + 1) * LIVES * rounds / (KILLS * effort() + 1);
        eventually("the customers to get on", async || (nodes.progress() >= enough).then_some(())).await;
        let victim = kill % gateways.len();
        nodes.lose(victim);
        gateways[victim].kill();
        gateways[victim].restart().await;
        nodes.regain(victim, &gateways[victim]);
    }
    let mut said = Vec::new();
    while let Some(life) = lives.join_next().await {
        said.extend(life.expect("a whole life"));
    }
    let merchant = merchant.moved_to(&gateways[0]);
    all_ended_as_it_should(&merchant, LIVES * rounds).await;
    for acknowledged in &said {
        let links = merchant.api.get(acknowledged).await.data();
        let file = reqwest::get(links["download_url"].as_str().expect("a URL")).await.expect("an answer");
        assert_eq!(file.bytes().await.expect("bytes"), life::FILE, "{acknowledged}");
    }
    the_provider_heard_of_each_once(&bank, &merchant, &gateways[0], LIVES * rounds).await;
    let endpoint = endpoint["id"].as_str().expect("an id");
    everything_was_told(&merchant.api, endpoint, &receiver, Delivery::json).await;
    for gateway in &gateways {
        gateway.assert_no_panic();
    }
    gateways[0].check();
}

async fn all_ended_as_it_should(merchant: &Merchant, rounds: usize) {
    let count = i64::try_from(rounds).expect("few");
    // Of the payouts over the provider a third each.
    let third = count / 3;
    for (status, expected) in [
        ("partial_refund", count),
        ("completed", 3 * count + third),
        ("failed", third),
        ("refunded", third),
        ("cancelled", count),
        ("processing", 0),
        ("pending", 0),
    ] {
        let list = merchant.api.get(&format!("/api/v1/payments?status={status}&limit=1")).await.ok();
        assert_eq!(list["total"], expected, "{status}");
    }
    assert_eq!(merchant.balance("MXN").await, (count * (DEPOSITED - REFUNDED + HOSTED), 0));
    assert_eq!(merchant.balance("ARS").await, (FUNDS - count * WITHDRAWN, 0));
    assert_eq!(merchant.balance(CURRENCY).await, (FUNDS + count * BANKED - third * PAID_OUT, 0));
    assert_eq!(merchant.api.get("/api/v1/tickets?limit=1").await.ok()["pagination"]["total"], count);
}

/// Each payment has one reference at the provider, and each report of a wrong amount waits for a person.
async fn the_provider_heard_of_each_once(bank: &Bank, merchant: &Merchant, gateway: &Gateway, rounds: usize) {
    let path = format!("/api/v1/payments?currency={CURRENCY}&limit=1");
    assert_eq!(merchant.api.get(&path).await.ok()["total"], 2 * rounds);
    let orders = bank.0.orders();
    assert_eq!((orders.len(), bank.0.unsigned_calls()), (2 * rounds, 0), "one reference for each payment");
    for order in orders {
        let reference = order.body["rail_reference"].as_str().expect("a reference");
        assert_eq!(merchant.api.payment(reference).await["amount"], order.body["amount"]);
    }
    let parked = format!("/operator/v1/receipts?merchant_id={}&limit=1", merchant.id);
    assert_eq!(gateway.operator().get(&parked).await.ok()["total"], rounds, "one wrong amount a round");
}

/// Each version of each payment came under one identifier, and the log agrees.
pub(crate) async fn everything_was_told(
    api: &Client,
    endpoint: &str,
    receiver: &Receiver,
    read: impl Fn(&Delivery) -> Value,
) {
    let path = format!("/api/v1/webhooks/{endpoint}/events");
    eventually("nothing to be owed any more", async || {
        (api.get(&format!("{path}?status=pending&limit=1")).await.ok()["total"] == 0).then_some(())
    })
    .await;
    let mut told: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    for delivery in receiver.deliveries("/hook") {
        let payment = read(&delivery)["data"]["payment"].take();
        let id = payment["transaction_id"].as_str().expect("text").to_owned();
        let version = payment["status_version"].as_u64().expect("a number");
        told.entry((id, version)).or_default().insert(delivery.header("webhook-id").to_owned());
    }
    assert!(told.values().all(|ids| ids.len() == 1), "a version was told under two identifiers");
    let log: Value = api.get(&format!("{path}?status=delivered&limit=1")).await.ok();
    assert_eq!(log["total"], told.len(), "what came is what was to come");
}

/// Nodes that share everything that nodes can share.
fn cluster() -> Setup {
    let s3 = std::env::var("QUIPU_TEST_S3").expect("QUIPU_TEST_S3 is not set: run `make test`");
    let url: reqwest::Url = s3.parse().expect("a URL");
    let prefix = quipu_tests::draft::reference();
    Setup::new(Database::Postgres)
        .with_redis()
        .set("SIMULATOR__DELAY", "50ms")
        .set("WEBHOOKS__RETRY_SCHEDULE", "200ms,1s,1s,1s,1s,1s,1s,1s,1s")
        .set("ATTACHMENTS_URL", &format!("s3:/{}/{prefix}", url.path()))
        .set(
            "ATTACHMENTS__S3__ENDPOINT",
            &format!("http://{}", url.authority().rsplit('@').next().unwrap_or("")),
        )
        .set("ATTACHMENTS__S3__ACCESS_KEY_ID", url.username())
        .set("ATTACHMENTS__S3__SECRET_ACCESS_KEY", url.password().unwrap_or(""))
}
