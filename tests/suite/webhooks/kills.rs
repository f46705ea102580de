//! Processes that die in the midst of it: every event arrives all the same. What a dead node had in hand is taken over in
//! time, as `cluster/takeover.rs` shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use quipu_tests::{
    Client, Database, Merchant, Receiver, Setup, draft, effort, eventually, on_both_databases,
};
use reqwest::Method;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{endpoint, path_of};

on_both_databases!(every_event_arrives_at_every_endpoint_however_often_the_process_dies);

/// More where more effort is asked for: with an effort of 20 they are 20,000 in all.
const PAYMENTS_A_ROUND: usize = 200;
const KILLS: usize = 5;
const CALLERS: usize = 8;
const EVENTS: [&str; 2] = ["payment.created", "payment.completed"];
const PATHS: [&str; 2] = ["/one", "/two"];

async fn every_event_arrives_at_every_endpoint_however_often_the_process_dies(database: Database) {
    killed_under_load(database, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_arrives_at_every_endpoint_although_one_of_two_nodes_dies_again_and_again() {
    killed_under_load(Database::Postgres, 2).await;
}

async fn killed_under_load(database: Database, nodes: usize) {
    let setup =
        Setup::new(database).set("SIMULATOR__DELAY", "20ms").set("WEBHOOKS__RETRY_SCHEDULE", "200ms,1s,1s");
    let mut gateways = vec![setup.start().await];
    while gateways.len() < nodes {
        gateways.push(gateways[0].another_node().await);
    }
    let receiver = Receiver::start().await;
    let merchant = gateways[0].merchant().await;
    let mut endpoints = Vec::new();
    for path in PATHS {
        endpoints.push(endpoint(&merchant.api, &receiver.url(path), &EVENTS).await);
    }
    let (mut callers, is_over) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    let mut call = |merchant: &Merchant| {
        for _ in 0..CALLERS / nodes {
            callers.spawn(create_until_it_dies(merchant.api.clone(), Arc::clone(&is_over)));
        }
    };
    for gateway in &gateways {
        call(&merchant.moved_to(gateway));
    }
    for kill in 0..KILLS {
        let enough = receiver.count(PATHS[0]) + EVENTS.len() * PAYMENTS_A_ROUND * effort();
        eventually("deliveries to go on", async || (receiver.count(PATHS[0]) >= enough).then_some(())).await;
        let victim = kill % nodes;
        gateways[victim].kill();
        gateways[victim].restart().await;
        call(&merchant.moved_to(&gateways[victim]));
    }
    is_over.store(true, Ordering::Relaxed);
    callers.join_all().await;
    all_came(&merchant.moved_to(&gateways[0]), &endpoints, &receiver).await;
    gateways[0].check();
}

async fn all_came(merchant: &Merchant, endpoints: &[Value], receiver: &Receiver) {
    for endpoint in endpoints {
        eventually("nothing to be owed any more", async || {
            let open = merchant.api.get("/api/v1/payments?status=processing&limit=1").await.ok();
            let owed = merchant.api.get(&path_of(endpoint, "/events?status=pending&limit=1")).await.ok();
            (open["total"] == 0 && owed["total"] == 0).then_some(())
        })
        .await;
    }
    let payments =
        merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"].as_u64().expect("a number");
    for (path, endpoint) in PATHS.into_iter().zip(endpoints) {
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
}

async fn create_until_it_dies(api: Client, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let body = draft::deposit_mxn(100).to_string().into_bytes();
        let Ok(answer) = api.try_send(Method::POST, "/api/v1/payments", Some(body), &[]).await else {
            return;
        };
        let _: Value = answer.ok();
    }
}
