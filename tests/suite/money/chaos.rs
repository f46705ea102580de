//! Everything at once: a provider that misbehaves in every way and tells of outcomes at whichever node it likes, and nodes
//! that are killed at moments nobody chose.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use quipu_tests::{
    Client, Database, Gateway, Merchant, Setup, draft, effort, on_both_databases,
    provider::{Behaviour, Endpoint, Order, Provider},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::merchant_on;

on_both_databases!(nothing_is_paid_twice_whatever_breaks);

const PAYMENTS: usize = 12;
const ROUNDS: usize = 3;
const FUNDS: i64 = 100_000;
const FIRST_SEED: u64 = 20_261_121;
/// Short enough that some deposits expire before their money comes.
const EXPIRES_IN: u64 = 8;
/// Longer than a submission that a kill cut off waits until it is made again.
const PATIENCE: Duration = Duration::from_secs(150);

async fn nothing_is_paid_twice_whatever_breaks(database: Database) {
    let first = std::env::var("QUIPU_SEED").map_or(FIRST_SEED, |text| text.parse().expect("a whole number"));
    for round in 0..effort() {
        history(database, first + round as u64).await;
    }
}

/// One history, which follows from its seed as far as the moments of kills allow.
async fn history(database: Database, seed: u64) {
    println!("QUIPU_SEED={seed}");
    let mut history = History::begin(database, seed).await;
    history.plan_misbehaviour();
    let mut calls = JoinSet::new();
    for _ in 0..ROUNDS {
        history.round(&mut calls).await;
    }
    calls.join_all().await;
    history.finish().await;
    history.judge().await;
}

/// What is to become of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Paid,
    Failed,
    /// A payout is paid and comes back; a deposit is never paid.
    Undone,
}

impl Fate {
    /// What the provider answers when it is asked, and what it reports, in the order of the reports.
    const fn told(self, of: Endpoint) -> (&'static str, &'static [&'static str]) {
        match (self, of) {
            (Self::Paid, _) => ("completed", &["payment.completed"]),
            (Self::Failed, _) => ("failed", &["payment.failed"]),
            (Self::Undone, Endpoint::Payouts) => ("completed", &["payment.returned", "payment.completed"]),
            (Self::Undone, _) => ("pending", &[]),
        }
    }

    /// How the payment may end.
    const fn ends(self, of: Endpoint) -> &'static [&'static str] {
        match (self, of) {
            (Self::Paid, _) => &["completed"],
            (Self::Failed, Endpoint::Payouts) => &["failed"],
            (Self::Failed, _) => &["failed", "expired"],
            (Self::Undone, Endpoint::Payouts) => &["refunded"],
            (Self::Undone, _) => &["expired"],
        }
    }
}

struct History {
    provider: Provider,
    gateways: Vec<Gateway>,
    merchant: Merchant,
    seed: u64,
    rolls: u64,
    fates: BTreeMap<String, Fate>,
}

impl History {
    async fn begin(database: Database, seed: u64) -> Self {
        let provider = Provider::start().await;
        let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "200ms,400ms");
        let mut gateways = vec![setup.start().await];
        gateways.extend(gateways[0].second_node().await);
        let merchant = merchant_on(&gateways[0], &provider).await;
        merchant
            .edit_routes(|route| {
                if route["direction"] == "deposit" {
                    route["expires_in"] = json!(EXPIRES_IN);
                }
            })
            .await;
        merchant.fund("ARS", FUNDS).await;
        Self { provider, gateways, merchant, seed, rolls: seed, fates: BTreeMap::new() }
    }

    /// A number that looks random and follows from the seed.
    fn rolled(&mut self, below: usize) -> usize {
        self.rolls =
            self.rolls.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.rolls >> 33).expect("31 bits") % below
    }

    /// Among the ways is one call that hangs after it was heard, and one that hangs before: each lasts for ten seconds.
    fn plan_misbehaviour(&mut self) {
        const WAYS: [Behaviour; 6] = [
            Behaviour::Honest,
            Behaviour::TakeAndTalkNonsense,
            Behaviour::TakeAndFail,
            Behaviour::Close,
            Behaviour::Reject,
            Behaviour::Honest,
        ];
        for endpoint in [Endpoint::Instructions, Endpoint::Payouts] {
            let mut ways: Vec<_> = (0..PAYMENTS * 2).map(|_| WAYS[self.rolled(WAYS.len())]).collect();
            let first = self.rolled(PAYMENTS);
            let second = (first + 1 + self.rolled(PAYMENTS - 1)) % PAYMENTS;
            (ways[first], ways[second]) = (Behaviour::TakeAndHang, Behaviour::Hang);
            self.provider.next(endpoint, ways);
        }
    }

    /// Calls go to all nodes, until one of them is killed.
    async fn round(&mut self, calls: &mut JoinSet<()>) {
        let mut fresh = JoinSet::new();
        for _ in 0..PAYMENTS / ROUNDS {
            for draft in [draft::deposit_mxn(1_000), draft::withdrawal_ars(1_000)] {
                let node = self.rolled(self.gateways.len());
                let api = self.merchant.moved_to(&self.gateways[node]).api;
                fresh.spawn(async move { try_create(&api, &draft).await });
            }
        }
        let killed_after = self.rolled(fresh.len());
        for _ in 0..killed_after {
            fresh.join_next().await;
            let orders = self.provider.orders();
            if !orders.is_empty() {
                let order = self.rolled(orders.len());
                self.tell(&orders[order]).await;
            }
        }
        let victim = self.rolled(self.gateways.len());
        self.gateways[victim].kill();
        self.gateways[victim].restart().await;
        self.merchant = self.merchant.moved_to(&self.gateways[victim]);
        // The rest may hang at the other node.
        calls.spawn(async move { drop(fresh.join_all().await) });
        // Killed at once, it may have heard of none of them.
        assert!(killed_after == 0 || !self.all().await.is_empty(), "seed {}", self.seed);
    }

    /// Settles an order, and reports it twice, each time at any node; one that is dead hears nothing.
    async fn tell(&mut self, order: &Order) {
        const FATES: [Fate; 4] = [Fate::Paid, Fate::Failed, Fate::Undone, Fate::Paid];
        let reference = reference_of(order);
        let fresh = FATES[self.rolled(FATES.len())];
        let fate = *self.fates.entry(reference.to_owned()).or_insert(fresh);
        let (status, reports) = fate.told(order.endpoint);
        self.provider.settle(reference, status);
        for kind in reports {
            let event = self.provider.event(kind, reference);
            for _ in 0..2 {
                let node = self.rolled(self.gateways.len());
                let answer = self.provider.try_call_back(&self.gateways[node].anonymous(), &event).await;
                let answer = answer.expect("nobody is dead meanwhile");
                assert_eq!(answer.status, 200, "seed {}: {answer}", self.seed);
            }
        }
    }

    /// Every payment of the merchant.
    async fn all(&self) -> Vec<Value> {
        let listed = self.merchant.api.get("/api/v1/payments?limit=100").await.ok();
        listed["data"].as_array().expect("a list").clone()
    }

    /// Lets everything come to its end: the provider behaves, settles what it has, and tells of it twice, last
    /// things first.
    async fn finish(&mut self) {
        for endpoint in [Endpoint::Instructions, Endpoint::Payouts, Endpoint::Status] {
            self.provider.forget_plans(endpoint);
        }
        let begun = Instant::now();
        let mut pace = tokio::time::interval(Duration::from_millis(500));
        loop {
            pace.tick().await;
            for order in self.provider.orders().iter().rev() {
                self.tell(order).await;
            }
            let records = self.all().await;
            let open = records.iter().filter(|record| !self.ends_of(record).contains(&status_of(record)));
            let open: Vec<_> = open.map(|record| &record["transaction_id"]).collect();
            if open.is_empty() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "seed {}: {open:?} are still open", self.seed);
        }
    }

    /// How a payment may end. One that the provider has not taken on was refused or has expired.
    fn ends_of(&self, record: &Value) -> &'static [&'static str] {
        let id = record["transaction_id"].as_str().expect("an id");
        match (self.provider.order(id), self.fates.get(id)) {
            (Some(order), Some(fate)) => fate.ends(order.endpoint),
            _ => &["failed", "expired"],
        }
    }

    async fn judge(&self) {
        let records = self.all().await;
        let sum = |kind: &str| {
            let of_kind =
                records.iter().filter(|record| record["type"] == kind && record["status"] == "completed");
            i64::try_from(of_kind.count()).expect("few") * 1_000
        };
        assert_eq!(self.merchant.balance("MXN").await, (sum("deposit"), 0), "seed {}", self.seed);
        assert_eq!(self.merchant.balance("ARS").await, (FUNDS - sum("withdrawal"), 0), "seed {}", self.seed);
        // What the provider has under a reference is a payment of ours, and ended as the provider says.
        for order in self.provider.orders() {
            let reference = reference_of(&order);
            let record =
                records.iter().find(|record| record["transaction_id"] == reference).expect("a payment");
            assert!(self.ends_of(record).contains(&status_of(record)), "seed {}: {record}", self.seed);
        }
        let parked = self.gateways[0].operator().get("/operator/v1/receipts").await.ok();
        assert_eq!(parked["total"], 0, "seed {}: {parked}", self.seed);
        self.gateways[0].check();
        for gateway in &self.gateways {
            gateway.assert_no_panic();
        }
    }
}

/// Creates a payment; whether it exists afterwards the list will tell.
async fn try_create(api: &Client, draft: &Value) {
    let body = Some(draft.to_string().into_bytes());
    let _ = api.try_send(reqwest::Method::POST, "/api/v1/payments", body, &[]).await;
}

fn reference_of(order: &Order) -> &str {
    order.body["rail_reference"].as_str().expect("a reference")
}

fn status_of(record: &Value) -> &str {
    record["status"].as_str().expect("a status")
}
