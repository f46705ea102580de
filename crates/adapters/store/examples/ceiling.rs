//! How many durable withdrawals a second the store takes, without HTTP in front: each a payment, two entries,
//! an event, a balance and a counter.
//!
//! `cargo run --release -p quipu-store --example ceiling -- sqlite:///tmp/ceiling.db 64 10` (address, callers, seconds)

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use quipu_commit::{Changes, Commit as _};
use quipu_kernel::{Clock as _, PaymentId, SystemClock, Tenant};
use quipu_ledger::LedgerReads as _;
use quipu_payments::{Payment, PaymentReads as _};
use quipu_store::{Store, StoreSettings};
use quipu_webhooks::Event;

#[path = "../tests/contract/sample.rs"]
#[expect(dead_code, reason = "the tests vary their samples in more ways")]
mod sample;

const MERCHANTS: i64 = 8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "sqlite://ceiling.db".to_owned());
    if let Some(path) = url.strip_prefix("sqlite://") {
        std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file for the database");
    }
    let callers: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(64);
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let merchants: i64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(MERCHANTS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let handle = runtime.handle().clone();
    runtime.block_on(async {
        let store = Store::open(StoreSettings::new(url), handle).await.expect("the store opens");
        store.migrate().await.expect("migrations apply");
        for merchant in 1..=merchants {
            let funding = sample::funding(sample::tenant(merchant), 1 << 40);
            store.commit(funding).await.expect("funded");
        }
        let made = commits(&store, callers, merchants, Duration::from_secs(seconds)).await;
        reads(&store, callers, made, Duration::from_secs(seconds.min(5))).await;
        let started = Instant::now();
        let report = store.check().await.expect("checked");
        println!(
            "check: {} payments, {} transactions, {} breaches in {:?}",
            report.payments,
            report.transactions,
            report.breaches.len(),
            started.elapsed()
        );
        store.close().await;
    });
}

/// A withdrawal of this moment, with an event as long as a real one.
fn withdrawal(tenant: Tenant) -> Changes {
    let mut change =
        sample::Sample { at: SystemClock.now(), ..sample::Sample::withdrawal(tenant, 100) }.create();
    let mut events: Vec<Event> = change.rows_of().cloned().collect();
    change.rows.clear();
    for event in &mut events {
        event.payload = format!("{{\"type\":\"payment.created\",\"padding\":\"{}\"}}", "x".repeat(600));
        change.add(event.clone());
    }
    change
}

async fn commits(store: &Store, callers: usize, merchants: i64, time: Duration) -> Vec<(Tenant, PaymentId)> {
    let started = Instant::now();
    let slowest = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (store, slowest) = (store.clone(), Arc::clone(&slowest));
            tokio::spawn(async move {
                let tenant = sample::tenant(1 + i64::try_from(caller).expect("small") % merchants);
                let mut made = Vec::new();
                while started.elapsed() < time {
                    let change = withdrawal(tenant);
                    let begun = Instant::now();
                    let committed = store.commit(change).await.expect("committed");
                    let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                    slowest.fetch_max(took, Ordering::Relaxed);
                    made.push((tenant, committed.into_saved::<Payment>().expect("a payment").id().clone()));
                }
                made
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.expect("a caller ends"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let rate = all.len() as f64 / started.elapsed().as_secs_f64();
    let slowest = slowest.load(Ordering::Relaxed);
    println!("{callers} callers: {rate:.0} commits/s, {} in all, the slowest {slowest} us", all.len());
    all
}

async fn reads(store: &Store, callers: usize, made: Vec<(Tenant, PaymentId)>, time: Duration) {
    let (started, made, count) = (Instant::now(), Arc::new(made), Arc::new(AtomicU64::new(0)));
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (store, made, count) = (store.clone(), Arc::clone(&made), Arc::clone(&count));
            tokio::spawn(async move {
                let mut index = caller;
                while started.elapsed() < time {
                    index = (index + 7919) % made.len();
                    let (tenant, id) = &made[index];
                    store.payment(*tenant, id).await.expect("read").expect("found");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller ends");
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let rate = count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    println!("{callers} callers: {rate:.0} reads/s");
}
