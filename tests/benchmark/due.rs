//! How fast what is due together is done: payments that settle, and payments that expire.
//!
//! They are made over HTTP, and the gateway is stopped before they are due. When all of them are, it is
//! started again and timed until none is left.

use std::time::{Duration, Instant};

use quipu_tests::{Database, Gateway, Merchant, Setup};
use serde_json::json;

use crate::{Plan, caller_of, load, report::Row};

pub(crate) const SETTLE: &str = "settle deposits that are due";
pub(crate) const EXPIRE: &str = "expire deposits that are due";

/// Between a creation and when it is due: longer than creating all of them takes.
const DELAY: Duration = Duration::from_secs(45);
/// How many are due together for a million payments of history.
const SHARE: usize = 10;

/// Both rates on one database.
pub(crate) async fn rates(database: Database, plan: Plan) -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in [SETTLE, EXPIRE] {
        let per_second = rate(Setup::new(database), operation, plan.payments / SHARE).await;
        rows.push(Row { operation, callers: 0, per_second, latency: load::microseconds(), cost: None });
    }
    rows
}

/// How many payments a second one of the two operations ends.
pub(crate) async fn rate(setup: Setup, operation: &'static str, payments: usize) -> f64 {
    let expires = operation == EXPIRE;
    let email = if expires { "stay@simulator.test" } else { "customer{}@example.com" };
    let seconds = DELAY.as_secs();
    let mut gateway = setup.set("SIMULATOR__DELAY", &format!("{seconds}s")).start().await;
    let merchant = gateway.merchant().await;
    if expires {
        merchant.edit_routes(|route| route["expires_in"] = json!(seconds)).await;
    }
    let caller = caller_of(&merchant).await;
    let begun = Instant::now();
    let address = crate::address_of(&gateway);
    load::send(address, 128, payments, caller.create_deposit_for(email)).expect("created");
    let count = waiting(&merchant, &gateway).await;
    assert!(begun.elapsed() < DELAY, "creating took so long that some were due");
    gateway.terminate().await;
    tokio::time::sleep(DELAY).await;
    let begun = Instant::now();
    gateway.restart().await;
    while waiting(&merchant, &gateway).await > 0.0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let time = begun.elapsed();
    gateway.check();
    let per_second = count / time.as_secs_f64();
    eprintln!("{operation}: {count} in {time:.1?}, {per_second:.0}/s");
    per_second
}

async fn waiting(merchant: &Merchant, gateway: &Gateway) -> f64 {
    let list = merchant.moved_to(gateway).api.get("/api/v1/payments?status=processing&limit=1").await.ok();
    list["total"].as_f64().expect("a total")
}
