//! Processes that die in the midst of it: every event arrives all the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use quipu_tests::{
    Behaviour, Client, Database, Receiver, Setup, draft, effort, eventually, on_both_databases,
};
use reqwest::Method;
use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use super::{endpoint, path_of};

on_both_databases!(
    every_event_arrives_at_every_endpoint_however_often_the_process_dies,
    what_a_dead_node_had_in_hand_is_delivered_by_the_next,
);

/// More where more effort is asked for: with an effort of 20 they are 20,000 in all.
const PAYMENTS_A_ROUND: usize = 200;
const KILLS: usize = 5;

async fn every_event_arrives_at_every_endpoint_however_often_the_process_dies(database: Database) {
    let setup =
        Setup::new(database).set("SIMULATOR__DELAY", "20ms").set("WEBHOOKS__RETRY_SCHEDULE", "200ms,1s,1s");
    let mut gateway = setup.start().await;
    let receiver = Receiver::start().await;
    let mut merchant = gateway.merchant().await;
    let events = ["payment.created", "payment.completed"];
    let endpoints = [
        endpoint(&merchant.api, &receiver.url("/one"), &events).await,
        endpoint(&merchant.api, &receiver.url("/two"), &events).await,
    ];
    for _ in 0..KILLS {
        let mut callers = JoinSet::new();
        for _ in 0..8 {
            callers.spawn(create_until_it_dies(merchant.api.clone()));
        }
        let enough = receiver.count("/one") + events.len() * PAYMENTS_A_ROUND * effort();
        receiver.wait_for("/one", enough).await;
        gateway.kill();
        callers.join_all().await;
        gateway.restart().await;
        merchant = merchant.moved_to(&gateway);
    }
    for endpoint in &endpoints {
        eventually("nothing to be owed any more", async || {
            let open = merchant.api.get("/api/v1/payments?status=processing&limit=1").await.ok();
            let owed = merchant.api.get(&path_of(endpoint, "/events?status=pending&limit=1")).await.ok();
            (open["total"] == 0 && owed["total"] == 0).then_some(())
        })
        .await;
    }
    let payments =
        merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"].as_u64().expect("a number");
    for (path, endpoint) in ["/one", "/two"].into_iter().zip(&endpoints) {
        // Of each payment and type the identifiers that came: a duplicate has the same.
        let mut told: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for delivery in receiver.deliveries(path) {
            let payment =
                delivery.json()["data"]["payment"]["transaction_id"].as_str().expect("text").to_owned();
            let ids = told.entry((payment, delivery.event_type())).or_default();
            ids.insert(delivery.header("webhook-id").to_owned());
        }
        assert_eq!(told.len() as u64, 2 * payments, "{path}: none is missing");
        assert!(told.values().all(|ids| ids.len() == 1), "{path}: duplicates have the same identifier");
        let delivered = merchant.api.get(&path_of(endpoint, "/events?status=delivered&limit=1")).await.ok();
        assert_eq!(delivered["total"], 2 * payments);
    }
    gateway.check();
}

async fn what_a_dead_node_had_in_hand_is_delivered_by_the_next(database: Database) {
    const PAYMENTS: usize = 3;
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    receiver.behave("/a", Behaviour::Hang);
    endpoint(&merchant.api, &receiver.url("/a"), &["payment.created"]).await;
    for _ in 0..PAYMENTS {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    receiver.wait_for("/a", PAYMENTS).await;
    receiver.behave("/a", Behaviour::status(200));
    let other = gateway.second_node().await;
    gateway.kill();
    let died = Instant::now();
    if other.is_none() {
        gateway.restart().await;
    }
    let deliveries = receiver.wait_for("/a", 2 * PAYMENTS).await;
    // Ten seconds, and what a loaded machine takes for the rest.
    assert!(died.elapsed() < Duration::from_secs(15), "{:?}", died.elapsed());
    let ids: BTreeSet<_> = deliveries.iter().map(|delivery| delivery.header("webhook-id")).collect();
    assert_eq!(ids.len(), PAYMENTS, "each came twice under one identifier");
}

async fn create_until_it_dies(api: Client) {
    loop {
        let body = draft::deposit_mxn(100).to_string().into_bytes();
        let Ok(answer) = api.try_send(Method::POST, "/api/v1/payments", Some(body), &[]).await else {
            return;
        };
        let _: Value = answer.ok();
    }
}
