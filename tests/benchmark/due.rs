//! How fast what is due together is done: payments that settle, and payments that expire.
//!
//! They are made over HTTP, and the gateway is stopped before they are due. When all of them are, it is started again and
//! timed until none is left.

use std::time::{Duration, Instant};

use quipu_tests::{Database, Gateway, Merchant, Setup};
use serde_json::json;

use crate::{
    caller_of,
    load::{self, Pressure},
    report::Row,
};

pub(crate) const SETTLE: &str = "settle deposits that are due";
pub(crate) const EXPIRE: &str = "expire deposits that are due";

/// Between a creation and when it is due: longer than creating takes.
const DELAY: Duration = Duration::from_secs(20);
/// How long payments are made.
const MAKING: Duration = Duration::from_secs(6);

/// Both rates on one database.
pub(crate) async fn rates(database: Database) -> Vec<Row> {
    let mut rows = Vec::new();
    for (operation, email) in [(SETTLE, "customer{}@example.com"), (EXPIRE, "stay@simulator.test")] {
        let (count, time) = drain(database, operation == EXPIRE, email).await;
        let per_second = count / time.as_secs_f64();
        eprintln!("{operation}: {count} in {time:.1?}, {per_second:.0}/s");
        rows.push(Row { operation, callers: 0, per_second, latency: load::microseconds(), cost: None });
    }
    rows
}

async fn drain(database: Database, expires: bool, email: &'static str) -> (f64, Duration) {
    let seconds = DELAY.as_secs();
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", &format!("{seconds}s")).start().await;
    let merchant = gateway.merchant().await;
    if expires {
        merchant.edit_routes(|route| route["expires_in"] = json!(seconds)).await;
    }
    let caller = caller_of(&merchant).await;
    let pressure = Pressure { connections: 128, time: MAKING };
    let begun = Instant::now();
    load::press(crate::address_of(&gateway), pressure, caller.create_deposit_for(email)).expect("created");
    let count = waiting(&merchant, &gateway).await;
    assert!(begun.elapsed() < DELAY, "creating took so long that some were due");
    gateway.terminate().await;
    tokio::time::sleep(DELAY.saturating_sub(begun.elapsed()) + MAKING * 2).await;
    let begun = Instant::now();
    gateway.restart().await;
    while waiting(&merchant, &gateway).await > 0.0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let time = begun.elapsed();
    gateway.check();
    (count, time)
}

async fn waiting(merchant: &Merchant, gateway: &Gateway) -> f64 {
    let list = merchant.moved_to(gateway).api.get("/api/v1/payments?status=processing&limit=1").await.ok();
    list["total"].as_f64().expect("a total")
}
