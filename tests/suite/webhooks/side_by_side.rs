//! Two nodes that live send what both of them commit and settle, each delivery once.

use std::collections::BTreeSet;

use quipu_tests::{Database, Receiver, Setup, draft, eventually};
use tokio::task::JoinSet;

use super::{endpoint, path_of};

const CALLERS: usize = 4;
const PAYMENTS_OF_EACH: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_living_nodes_send_each_delivery_once() {
    let first = Setup::new(Database::Postgres).set("SIMULATOR__DELAY", "20ms").start().await;
    let nodes = [first.another_node().await, first];
    let (merchant, receiver) = (nodes[0].merchant().await, Receiver::start().await);
    let (paths, events) = (["/one", "/two"], ["payment.created", "payment.completed"]);
    let mut endpoints = Vec::new();
    for path in paths {
        endpoints.push(endpoint(&merchant.api, &receiver.url(path), &events).await);
    }
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS * nodes.len() {
        let merchant = merchant.moved_to(&nodes[caller % nodes.len()]);
        callers.spawn(async move {
            for _ in 0..PAYMENTS_OF_EACH {
                merchant.create(&draft::deposit_mxn(100)).await;
            }
        });
    }
    callers.join_all().await;
    let expected = events.len() * CALLERS * nodes.len() * PAYMENTS_OF_EACH;
    for (path, endpoint) in paths.into_iter().zip(&endpoints) {
        eventually("everything to be delivered", async || {
            let log = merchant.api.get(&path_of(endpoint, "/events?status=delivered&limit=1")).await.ok();
            (log["total"] == expected).then_some(())
        })
        .await;
        let deliveries = receiver.deliveries(path);
        let ids: BTreeSet<_> = deliveries.iter().map(|delivery| delivery.header("webhook-id")).collect();
        assert_eq!((deliveries.len(), ids.len()), (expected, expected), "{path}: each once");
    }
    nodes[0].check();
}
