//! Three nodes on one PostgreSQL, one Redis and one bucket, killed in turns while everything is in use:
//! nothing that was acknowledged is lost, and nothing happens twice.

mod life;
pub(crate) mod nodes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use quipu_tests::{Database, Receiver, Setup, effort, eventually};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::{
    life::{DEPOSITED, HOSTED, Life, REFUNDED, WITHDRAWN},
    nodes::Nodes,
};

/// Customers at once.
const LIVES: usize = 4;
/// What each of them does, so many times.
const ROUNDS: usize = 3;
const KILLS: usize = 3;
const EVENTS: [&str; 5] =
    ["payment.created", "payment.processing", "payment.completed", "payment.refunded", "payment.cancelled"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_are_killed_in_turns_lose_nothing_and_do_nothing_twice() {
    let first = cluster().start().await;
    let mut gateways = vec![first.another_node().await, first.another_node().await];
    gateways.insert(0, first);
    let nodes = Arc::new(Nodes::of(&gateways));
    let (merchant, receiver) = (gateways[0].merchant().await, Receiver::start().await);
    merchant.fund("ARS", 1_000_000).await;
    let endpoint = json!({ "url": receiver.url("/hook"), "events": EVENTS });
    let endpoint = merchant.api.post("/api/v1/webhooks", &endpoint).await.data();

    let rounds = ROUNDS * effort();
    let mut lives = JoinSet::new();
    for _ in 0..LIVES {
        let life = Life::of(&merchant, &gateways[0].operator(), Arc::clone(&nodes));
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
    let count = i64::try_from(LIVES * rounds).expect("few");
    for (status, expected) in
        [("partial_refund", count), ("completed", 2 * count), ("cancelled", count), ("processing", 0)]
    {
        let list = merchant.api.get(&format!("/api/v1/payments?status={status}&limit=1")).await.ok();
        assert_eq!(list["total"], expected, "{status}");
    }
    assert_eq!(merchant.balance("MXN").await, (count * (DEPOSITED - REFUNDED + HOSTED), 0));
    assert_eq!(merchant.balance("ARS").await, (1_000_000 - count * WITHDRAWN, 0));
    assert_eq!(merchant.api.get("/api/v1/tickets?limit=1").await.ok()["pagination"]["total"], count);
    for acknowledged in &said {
        let links = merchant.api.get(acknowledged).await.data();
        let file = reqwest::get(links["download_url"].as_str().expect("a URL")).await.expect("an answer");
        assert_eq!(file.bytes().await.expect("bytes"), life::FILE, "{acknowledged}");
    }
    let endpoint = endpoint["id"].as_str().expect("an id");
    everything_was_told(&merchant.api, endpoint, &receiver).await;
    for gateway in &gateways {
        gateway.assert_no_panic();
    }
    gateways[0].check();
}

/// Each version of each payment came under one identifier, and the log agrees.
async fn everything_was_told(api: &quipu_tests::Client, endpoint: &str, receiver: &Receiver) {
    let path = format!("/api/v1/webhooks/{endpoint}/events");
    eventually("nothing to be owed any more", async || {
        (api.get(&format!("{path}?status=pending&limit=1")).await.ok()["total"] == 0).then_some(())
    })
    .await;
    let mut told: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    for delivery in receiver.deliveries("/hook") {
        let payment = delivery.json()["data"]["payment"].take();
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
