//! One signature, one call: at once, on two nodes, and across a crash.

use std::sync::Arc;

use quipu_tests::{
    Answer, Client, Database, Gateway, draft, on_both_databases,
    signature::{SignedRequest, fresh_nonce},
};
use tokio::task::JoinSet;

use super::people::{SigningMerchant, refused_401};

const AT_ONCE: usize = 64;

on_both_databases!(
    one_of_64_identical_requests_is_accepted,
    a_used_signature_stays_used_across_a_crash_and_an_unused_one_good,
);

async fn one_of_64_identical_requests_is_accepted(database: Database) {
    let gateway = Gateway::start(database).await;
    exactly_one_is_accepted(&gateway, &[gateway.anonymous()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_64_identical_requests_is_accepted_by_two_nodes() {
    let gateway = Gateway::start(Database::Postgres).await;
    let node = gateway.another_node().await;
    exactly_one_is_accepted(&gateway, &[gateway.anonymous(), node.anonymous()]).await;
}

/// Three rounds, because a race is not lost every time.
async fn exactly_one_is_accepted(gateway: &Gateway, nodes: &[Client]) {
    let merchant = SigningMerchant::onboard(gateway).await;
    merchant.fund("ARS", 10_000).await;
    let mut spent = 0;
    for _ in 0..3 {
        one_accepted(send_at_once(merchant.signer.get("/api/v2/balance?currency=ARS"), nodes).await);
        let withdrawal = draft::steered(draft::withdrawal_ars(100), "hold");
        one_accepted(send_at_once(merchant.signer.post("/api/v2/payments", &withdrawal), nodes).await);
        // A name for the attempt makes its copies no better.
        let withdrawal = draft::steered(draft::withdrawal_ars(100), "hold");
        let named = merchant.signer.post("/api/v2/payments", &withdrawal);
        one_accepted(send_at_once(named.with("Idempotency-Key", &fresh_nonce()), nodes).await);
        spent += 200;
        let (available, _) = merchant.balance(gateway, "ARS").await;
        assert_eq!(available, (10_000 - spent).to_string(), "one signature paid more than once");
    }
    gateway.check();
}

async fn send_at_once(request: SignedRequest, nodes: &[Client]) -> Vec<Answer> {
    let request = Arc::new(request);
    let mut sending = JoinSet::new();
    for node in nodes.iter().cycle().take(AT_ONCE) {
        let (request, node) = (Arc::clone(&request), node.clone());
        sending.spawn(async move { request.send(&node).await });
    }
    sending.join_all().await
}

#[track_caller]
fn one_accepted(answers: Vec<Answer>) {
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((accepted.len(), refused.len()), (1, AT_ONCE - 1));
    for answer in &refused {
        refused_401(answer, "NONCE_REUSED");
    }
}

async fn a_used_signature_stays_used_across_a_crash_and_an_unused_one_good(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = SigningMerchant::onboard(&gateway).await;
    let requests = || {
        let create = merchant.signer.post("/api/v2/payments", &draft::deposit_mxn(700));
        let read = merchant.signer.get("/api/v2/balance/all");
        let token = merchant.signer.post("/api/v2/auth/token", &serde_json::json!({}));
        let invalid = merchant.signer.post("/api/v2/payments", &serde_json::json!({ "amount": 0 }));
        [create, read, token, invalid]
    };
    let (used, unused) = (requests(), requests());
    let statuses = [200, 200, 200, 400];
    for (request, status) in used.iter().zip(statuses) {
        let answer = request.send(&gateway.anonymous()).await;
        assert_eq!(answer.status, status, "{answer}");
    }
    gateway.kill();
    gateway.restart().await;
    for request in &used {
        refused_401(&request.send(&gateway.anonymous()).await, "NONCE_REUSED");
    }
    for (request, status) in unused.iter().zip(statuses) {
        let answer = request.send(&gateway.anonymous()).await;
        assert_eq!(answer.status, status, "{answer}");
        refused_401(&request.send(&gateway.anonymous()).await, "NONCE_REUSED");
    }
}
