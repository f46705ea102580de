//! Nodes of an earlier release beside those of this one on one database, while this one's migrations are
//! applied and merchants go on as if nothing happened. `make soak` builds the earlier release from the
//! history.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use quipu_tests::{
    Answer, Client, Database, Delivery, Gateway, Merchant, Receiver, Setup, draft, effort, eventually,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cluster::{
    everything_was_told,
    nodes::{Call, Nodes},
};

const CUSTOMERS: usize = 4;
/// Rounds of all customers together between two steps of the upgrade.
const ROUNDS: usize = 40;
const FUNDS: i64 = 100_000_000;
const DEPOSITED: i64 = 70;
const REFUNDED: i64 = 20;
const WITHDRAWN: i64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs QUIPU_FORMER_BIN, a program of an earlier release; `make soak` builds one"]
async fn an_upgrade_goes_node_by_node_and_nobody_notices() {
    let former = std::env::var_os("QUIPU_FORMER_BIN").expect("QUIPU_FORMER_BIN names an earlier release");
    let first = Setup::new(Database::Postgres).binary(former.as_ref()).start().await;
    let second = first.another_node().await;
    let mut gateways = vec![first, second];
    let merchant = gateways[0].merchant().await;
    merchant.fund("ARS", FUNDS).await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint_of(&merchant, &receiver).await;
    let nodes = Arc::new(Nodes::of(&gateways));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut customers = JoinSet::new();
    for _ in 0..CUSTOMERS {
        let customer = Customer {
            api: merchant.api.clone(),
            staff: gateways[0].operator(),
            nodes: Arc::clone(&nodes),
            complains: endpoint.is_some(),
        };
        let is_over = Arc::clone(&is_over);
        customers.spawn(async move { customer.live(&is_over).await });
    }

    get_on(&nodes).await;
    let this = Setup::new(Database::Postgres).set("CHAIN__SEAL_AFTER", "2s");
    let upgraded = gateways[0].successor(this.clone());
    let applied: Value = serde_json::from_str(upgraded.run(&["migrate"]).ok()).expect("JSON");
    println!("applied under load: {}", applied["applied"]);
    assert!(!applied["applied"].as_array().expect("a list").is_empty(), "the earlier release has them all");
    get_on(&nodes).await;
    let mut upgraded = vec![upgraded, gateways[0].successor(this)];
    for node in 0..2 {
        // A balancer takes a node out before it is told to end.
        nodes.lose(node);
        assert_eq!(gateways[node].terminate().await, Some(0), "the earlier release drains");
        upgraded[node].restart().await;
        nodes.regain(node, &upgraded[node]);
        get_on(&nodes).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut lived = Vec::new();
    while let Some(customer) = customers.join_next().await {
        lived.extend(customer.expect("a whole life"));
    }
    let merchant = merchant.moved_to(&upgraded[0]);
    nothing_is_lost(&merchant, &lived, endpoint.is_some()).await;
    if let Some(endpoint) = &endpoint {
        // What the earlier release wrote is not described by the documents of this one.
        let read = |delivery: &Delivery| serde_json::from_str(&delivery.body).expect("JSON");
        everything_was_told(&merchant.api, endpoint, &receiver, read).await;
    }
    all_is_sealed(&upgraded[0]).await;
    upgraded[0].check();
    for gateway in gateways.drain(..).chain(upgraded) {
        gateway.assert_no_panic();
    }
}

/// Waits until the customers have done some more.
async fn get_on(nodes: &Nodes) {
    let enough = nodes.progress() + ROUNDS * effort();
    eventually("the customers to get on", async || (nodes.progress() >= enough).then_some(())).await;
}

/// The endpoint that hears of all payments; none if the earlier release knows neither webhooks nor tickets nor refunds.
async fn endpoint_of(merchant: &Merchant, receiver: &Receiver) -> Option<String> {
    let events = [
        "payment.created",
        "payment.processing",
        "payment.completed",
        "payment.refunded",
        "payment.cancelled",
    ];
    let endpoint = json!({ "url": receiver.url("/hook"), "events": events });
    let answer = merchant.api.post("/api/v1/webhooks", &endpoint).await;
    (answer.status != 404).then(|| answer.data()["id"].as_str().expect("an id").to_owned())
}

/// A customer of the merchant, who pays in and is paid out.
struct Customer {
    api: Client,
    /// Those who refund and answer.
    staff: Client,
    nodes: Arc<Nodes>,
    /// Whether there are tickets.
    complains: bool,
}

impl Customer {
    /// Lives until it is over; every payment that was acknowledged, with the status it is to end in.
    async fn live(self, is_over: &AtomicBool) -> Vec<(String, &'static str)> {
        let mut payments = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let deposit = self.pay(&draft::deposit_mxn(DEPOSITED)).await;
            self.look(&format!("/api/v1/payments/{deposit}")).await;
            let withdrawal = self.pay(&draft::withdrawal_ars(WITHDRAWN)).await;
            self.look("/api/v1/payments?limit=5").await;
            self.look("/api/v1/balance/all").await;
            let held = self.pay(&draft::steered(draft::withdrawal_ars(WITHDRAWN), "hold")).await;
            let path = format!("/api/v1/payments/{held}/cancel");
            let cancelled = self.told(&self.api, &Method::POST, &path, &Call::default()).await;
            // A repeat after a lost answer is told that it was cancelled.
            assert!([200, 400].contains(&cancelled.status), "{cancelled}");
            if self.complains {
                self.complain(&deposit).await;
            }
            let kept = if self.complains { "partial_refund" } else { "completed" };
            payments.extend([(deposit, kept), (withdrawal, "completed"), (held, "cancelled")]);
            self.nodes.advance();
        }
        payments
    }

    /// Opens a ticket about a deposit, is answered, and gets a part of the money back.
    async fn complain(&self, deposit: &str) {
        let path = format!("/api/v1/payments/{deposit}");
        eventually("the deposit to be completed", async || {
            (self.look(&path).await.data()["status"] == "completed").then_some(())
        })
        .await;
        let opened = json!({ "title": "Too much", "category": "refund_request", "payment_id": deposit });
        let opened = self.told(&self.api, &Method::POST, "/api/v1/tickets", &Call::of(opened)).await;
        // A repeat after a lost answer finds the first.
        assert!([201, 409].contains(&opened.status), "{opened}");
        let listed = self.look(&format!("/api/v1/tickets?payment_id={deposit}")).await.ok();
        let ticket = listed["data"][0]["ticket_id"].as_str().expect("an id");
        let comments = format!("/operator/v1/tickets/{ticket}/comments");
        let answer = Call::of(json!({ "body": "You are right." }));
        self.told(&self.staff, &Method::POST, &comments, &answer).await.data();
        let said = self.look(&format!("/api/v1/tickets/{ticket}/comments")).await.ok();
        assert_eq!(said["data"][0]["body"], "You are right.", "{said}");
        let refund = json!({ "amount": REFUNDED, "reason": "too much", "ticket_id": ticket });
        let path = format!("/operator/v1/payments/{deposit}/refunds");
        let refunded = self.told(&self.staff, &Method::POST, &path, &Call::keyed(refund)).await.data();
        assert_eq!(refunded["refunded_amount"], REFUNDED);
    }

    /// Pays, once; the same call is repeated until there is an answer.
    async fn pay(&self, draft: &Value) -> String {
        let call = Call::keyed(draft.clone());
        let paid = self.told(&self.api, &Method::POST, "/api/v1/payments", &call).await;
        paid.ok()["transaction_id"].as_str().expect("an id").to_owned()
    }

    /// Reads, which never fails. Only where the node has gone in the moment it was chosen another one is asked.
    async fn look(&self, path: &str) -> Answer {
        let ask = async || self.nodes.once(&self.api, &Method::GET, path, &Call::default()).await;
        let answer = eventually(path, ask).await;
        assert_eq!(answer.status, 200, "{path}: {answer}");
        answer
    }

    /// What becomes of a change. It may be told to try again, in the ways that are documented and in no other.
    async fn told(&self, who: &Client, method: &Method, path: &str, call: &Call) -> Answer {
        eventually(path, async || {
            let answer = self.nodes.once(who, method, path, call).await?;
            let says = |text: &str| answer.text.contains(text);
            match answer.status {
                503 => assert!(says("OVERLOADED"), "{answer}"),
                504 => assert!(says("payment_create_outcome_unknown"), "{answer}"),
                409 if says("IDEMPOTENCY_KEY_IN_USE") => {}
                status if status < 500 => return Some(answer),
                _ => panic!("{answer}"),
            }
            None
        })
        .await
    }
}

async fn nothing_is_lost(merchant: &Merchant, lived: &[(String, &'static str)], complained: bool) {
    for (id, status) in lived {
        let path = format!("/api/v1/payments/{id}");
        eventually(&format!("{id} to be {status}"), async || {
            (merchant.api.get(&path).await.data()["status"] == *status).then_some(())
        })
        .await;
    }
    let rounds = i64::try_from(lived.len() / 3).expect("few");
    assert_eq!(merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"], 3 * rounds, "nothing twice");
    let kept = if complained { DEPOSITED - REFUNDED } else { DEPOSITED };
    assert_eq!(merchant.balance("MXN").await, (rounds * kept, 0));
    let tickets = merchant.api.get("/api/v1/tickets?limit=1").await.ok();
    assert_eq!(tickets["pagination"]["total"], if complained { rounds } else { 0 });
    assert_eq!(merchant.balance("ARS").await, (FUNDS - rounds * WITHDRAWN, 0));
}

/// What the earlier release wrote is sealed like everything else.
async fn all_is_sealed(gateway: &Gateway) {
    eventually("everything to be sealed", async || {
        let count = gateway.query_sql("SELECT COUNT(*) FROM entries");
        (gateway.query_sql("SELECT SUM(rows) FROM chains WHERE book = 'entries'") == count).then_some(())
    })
    .await;
}
