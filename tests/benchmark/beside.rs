//! Another build of the gateway beside this one: the same calls to both in turns, so that whatever the
//! machine does meanwhile happens to both. Only ratios are told.

use std::{path::Path, time::Instant};

use quipu_tests::{Database, Gateway, Setup};

use crate::{
    Plan, address_of, caller_of, due,
    load::{self, Pressure, Request},
    process,
    workload::Caller,
};

/// How often each call is measured on each of the two.
const ROUNDS: usize = 5;
/// How many payments settle in each measurement.
const SETTLED: usize = 50_000;

/// How this build compares in one thing.
pub(crate) struct Ratio {
    pub(crate) operation: &'static str,
    /// Connections; nothing where there is only one way.
    pub(crate) callers: usize,
    /// This build's rate by the other's: the median of all rounds, the least and the most.
    pub(crate) rate: [f64; 3],
    /// The same for processor time of the gateway for one call; the median alone.
    pub(crate) processor: f64,
}

struct Side {
    gateway: Gateway,
    caller: Caller,
}

impl Side {
    async fn start(setup: Setup) -> Self {
        let gateway = setup.set("SIMULATOR__DELAY", "1h").start().await;
        let merchant = gateway.merchant().await;
        merchant.fund("ARS", 1_000_000_000_000).await;
        let mut caller = caller_of(&merchant).await;
        let pressure = Pressure { connections: 64, time: std::time::Duration::from_secs(2) };
        load::press(address_of(&gateway), pressure, caller.create_deposit()).expect("created");
        for offset in (0..1_000).step_by(100) {
            let list = merchant.api.get(&format!("/api/v1/payments?limit=100&offset={offset}")).await.ok();
            let rows = list["data"].as_array().expect("a list");
            caller
                .payments
                .extend(rows.iter().filter_map(|row| row["transaction_id"].as_str()).map(str::to_owned));
        }
        Self { gateway, caller }
    }

    /// Calls a second, and processor seconds for each.
    fn measure(&self, plan: Plan, callers: usize, request: &Request) -> (f64, f64) {
        let pressure = Pressure { connections: callers, time: plan.time };
        let (cpu, begun) = (process::cpu_seconds(self.gateway.pid()), Instant::now());
        let outcome =
            load::press(address_of(&self.gateway), pressure, Request::clone(request)).expect("answers");
        let calls = outcome.per_second * begun.elapsed().as_secs_f64();
        (outcome.per_second, (process::cpu_seconds(self.gateway.pid()) - cpu) / calls)
    }
}

/// What is compared: its name, its request, and over how many connections.
type Operation = (&'static str, fn(&Caller) -> Request, &'static [usize]);

/// All ratios of this build to `other` on one database.
pub(crate) async fn ratios(database: Database, other: &Path, plan: Plan) -> Vec<Ratio> {
    let sides =
        [Side::start(Setup::new(database).binary(other)).await, Side::start(Setup::new(database)).await];
    let operations: [Operation; 4] = [
        ("get", Caller::get, &[1, 128]),
        (crate::FIRST_PAGE, |caller| caller.get_path("/api/v1/payments"), &[1, 32]),
        ("create deposit", Caller::create_deposit, &[1, 128]),
        (crate::WITHDRAW, Caller::create_withdrawal, &[1, 128]),
    ];
    let mut found = Vec::new();
    for (operation, request, connections) in operations {
        for callers in connections {
            let measure = |side: &Side| side.measure(plan, *callers, &request(&side.caller));
            found.push(ratio(operation, *callers, |round| {
                // Whoever comes second may find a warmer or a hotter machine, so they take turns in that too.
                let (there, here) = if round % 2 == 0 {
                    let there = measure(&sides[0]);
                    (there, measure(&sides[1]))
                } else {
                    let here = measure(&sides[1]);
                    (measure(&sides[0]), here)
                };
                (here.0 / there.0, here.1 / there.1)
            }));
        }
    }
    drop(sides);
    let mut settling = Vec::new();
    for _ in 0..3 {
        let there = due::rate(Setup::new(database).binary(other), due::SETTLE, SETTLED).await;
        settling.push(due::rate(Setup::new(database), due::SETTLE, SETTLED).await / there);
    }
    found.push(ratio(due::SETTLE, 0, |round| (settling[round % settling.len()], f64::NAN)));
    found
}

fn ratio(operation: &'static str, callers: usize, mut measure: impl FnMut(usize) -> (f64, f64)) -> Ratio {
    let (mut rates, mut processors): (Vec<_>, Vec<_>) = (0..ROUNDS).map(&mut measure).unzip();
    rates.sort_by(f64::total_cmp);
    processors.sort_by(f64::total_cmp);
    let rate = [rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]];
    eprintln!(
        "{operation} x{callers}: {:.2} of the other's rate ({:.2} to {:.2}), {:.2} of its processor time",
        rate[0],
        rate[1],
        rate[2],
        processors[ROUNDS / 2]
    );
    Ratio { operation, callers, rate, processor: processors[ROUNDS / 2] }
}
