//! Everything at once: a provider that misbehaves in every way, and a gateway that is killed at moments nobody chose.

use std::time::{Duration, Instant};

use quipu_tests::{
    Database, Gateway, Merchant, Setup, draft, effort, on_both_databases,
    provider::{Behaviour, Endpoint, Provider},
};
use serde_json::Value;

use super::merchant_on;

on_both_databases!(nothing_is_paid_twice_whatever_breaks);

const PAYMENTS: usize = 12;
const FIRST_SEED: u64 = 20_261_121;
/// Longer than a submission that a kill cut off waits until it is made again.
const PATIENCE: Duration = Duration::from_secs(150);

/// A number that looks random and follows from the seed.
fn rolled(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).expect("31 bits")
}

fn misbehave(provider: &Provider, seed: &mut u64) {
    const WAYS: [Behaviour; 6] = [
        Behaviour::Honest,
        Behaviour::TakeAndTalkNonsense,
        Behaviour::TakeAndFail,
        Behaviour::Close,
        Behaviour::Reject,
        Behaviour::Honest,
    ];
    for endpoint in [Endpoint::Instructions, Endpoint::Payouts] {
        let ways: Vec<_> = (0..PAYMENTS * 2).map(|_| WAYS[rolled(seed) % WAYS.len()]).collect();
        provider.next(endpoint, ways);
    }
}

/// Creates a payment; whether it exists afterwards the list will tell.
async fn try_create(merchant: &Merchant, draft: &Value) {
    let body = Some(draft.to_string().into_bytes());
    let _ = merchant.api.try_send(reqwest::Method::POST, "/api/v1/payments", body, &[]).await;
}

/// Every payment of the merchant.
async fn all(merchant: &Merchant) -> Vec<Value> {
    let listed = merchant.api.get("/api/v1/payments?limit=100").await.ok();
    listed["data"].as_array().expect("a list").clone()
}

async fn nothing_is_paid_twice_whatever_breaks(database: Database) {
    for round in 0..effort() {
        history(database, FIRST_SEED + round as u64).await;
    }
}

/// One history, which follows from its seed as far as the moments of kills allow.
async fn history(database: Database, first_seed: u64) {
    let mut seed = first_seed;
    let provider = Provider::start().await;
    let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "200ms,400ms");
    let setup = setup.set("LIMITS__CALLBACKS_PER_MINUTE", "100000000");
    let mut gateway = setup.start().await;
    let other_node = gateway.second_node().await;
    let mut merchant = merchant_on(&gateway, &provider).await;
    merchant.fund("ARS", 100_000).await;
    misbehave(&provider, &mut seed);
    for _ in 0..3 {
        let calls = (0..PAYMENTS / 3).flat_map(|_| [draft::deposit_mxn(1_000), draft::withdrawal_ars(1_000)]);
        let calls: Vec<_> = calls
            .map(|draft| {
                let merchant = merchant.clone();
                tokio::spawn(async move { try_create(&merchant, &draft).await })
            })
            .collect();
        let killed_after = rolled(&mut seed) % calls.len();
        for (number, call) in calls.into_iter().enumerate() {
            if number == killed_after {
                gateway.kill();
            }
            call.await.expect("a call");
        }
        gateway.restart().await;
        merchant = merchant.moved_to(&gateway);
        // Killed at once, it may have heard of none of them.
        assert!(killed_after == 0 || !all(&merchant).await.is_empty(), "seed {first_seed}");
    }
    finish(&gateway, &provider, &merchant, first_seed).await;
    drop(other_node);
    let records = all(&merchant).await;
    let sum = |kind: &str, status: &str| {
        let of_kind = records.iter().filter(|record| record["type"] == kind && record["status"] == status);
        i64::try_from(of_kind.count()).expect("few") * 1_000
    };
    assert_eq!(merchant.balance("MXN").await, (sum("deposit", "completed"), 0));
    assert_eq!(merchant.balance("ARS").await, (100_000 - sum("withdrawal", "completed"), 0));
    // What the provider has under a reference is a payment of ours, and what it paid has completed.
    for order in provider.orders() {
        let reference = order.body["rail_reference"].as_str().expect("a reference");
        let record = records.iter().find(|record| record["transaction_id"] == reference).expect("a payment");
        assert_eq!(record["status"], "completed", "{record}");
    }
    gateway.check();
    gateway.assert_no_panic();
}

/// Lets everything come to its end: the provider behaves, settles what it has, and tells of it twice, last
/// things first.
async fn finish(gateway: &Gateway, provider: &Provider, merchant: &Merchant, seed: u64) {
    for endpoint in [Endpoint::Instructions, Endpoint::Payouts, Endpoint::Status] {
        provider.forget_plans(endpoint);
    }
    let begun = Instant::now();
    let mut pace = tokio::time::interval(Duration::from_millis(500));
    loop {
        pace.tick().await;
        for order in provider.orders().iter().rev() {
            let reference = order.body["rail_reference"].as_str().expect("a reference");
            provider.settle(reference, "completed");
            let event = provider.event("payment.completed", reference);
            for _ in 0..2 {
                assert_eq!(provider.call_back(&gateway.anonymous(), &event).await.status, 200);
            }
        }
        let records = all(merchant).await;
        let open =
            records.iter().filter(|record| record["status"] == "pending" || record["status"] == "processing");
        let open: Vec<_> = open.map(|record| &record["transaction_id"]).collect();
        if open.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "seed {seed}: {open:?} are still open");
    }
}
