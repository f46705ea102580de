//! Runs a history and a world of each seed, seed after seed, until one breaks a promise.
//!
//! `quipu-simulation [FIRST_SEED [RUNS [FAULT]]]`: a failing world is made smaller, told whole, and ends the
//! run with status 1. A failing history panics and names its seed. Only worlds have planted faults, so `FAULT` leaves
//! the histories out.

use std::{process::ExitCode, time::Instant};

use quipu_simulation::{Fault, MemoryStore, Plan, Ports, finish, run_history, run_world, shrunk};

/// How often it is told how far it has come.
const EVERY: u64 = 500;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |what: &str, usual: u64| {
        arguments
            .next()
            .map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{what} is a whole number")))
    };
    let (first, runs) = (number("the first seed", 1), number("the number of runs", u64::MAX));
    let fault = arguments.next().map(|name| {
        let found = Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == name);
        found.unwrap_or_else(|| panic!("{name} is none of {:?}", Fault::ALL))
    });
    let what = if fault.is_none() { "worlds and histories" } else { "worlds" };
    let begun = Instant::now();
    let (mut worlds, mut payments) = (0_u64, 0_u64);
    for seed in first..first.saturating_add(runs) {
        if fault.is_none() {
            finish(run_history(Ports::of(&MemoryStore::default()), seed));
        }
        let plan = Plan::of(seed);
        match run_world(&plan, fault) {
            Ok(summary) => {
                worlds += 1;
                payments += summary.payments;
            }
            Err(broken) => {
                tell_failure(seed, &plan, &broken, fault);
                return ExitCode::FAILURE;
            }
        }
        if worlds.is_multiple_of(EVERY) {
            tell_rate(seed, what, worlds, payments, begun);
        }
    }
    tell_rate(first.saturating_add(runs) - 1, what, worlds, payments, begun);
    ExitCode::SUCCESS
}

#[expect(clippy::cast_precision_loss, reason = "a rate is told in whole numbers")]
fn tell_rate(seed: u64, what: &str, runs: u64, payments: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    let rate = |count: u64| count as f64 / seconds;
    println!(
        "seed {seed}: {runs} {what}, {:.0} a second; {payments} payments, {:.0} a second",
        rate(runs),
        rate(payments)
    );
}

fn tell_failure(seed: u64, plan: &Plan, broken: &[String], fault: Option<Fault>) {
    println!("seed {seed} breaks promises:");
    tell(broken);
    let (small, broken) = shrunk(plan, fault);
    println!("of {} deeds {} are enough:\n{small}", plan.len(), small.len());
    tell(&broken);
}

fn tell(broken: &[String]) {
    for what in broken {
        println!("  {what}");
    }
}
