//! What a check in memory costs: `cargo bench -p quipu-limits`. It reports and asserts nothing.

use std::{hint::black_box, sync::Arc, time::Instant};

use quipu_kernel::{Clock, SystemClock, Timestamp};
use quipu_limits::LocalLimiter;
use quipu_merchants::{Budget, BudgetKind, Window};

/// A clock that has moved by a millisecond whenever it is read, so that windows fill and empty as under load.
#[derive(Default)]
struct Ticking(std::sync::atomic::AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }
}

const CHECKS: u32 = 1_000_000;

fn measure(name: &str, clock: Arc<dyn Clock>, subjects: usize) {
    let limiter = LocalLimiter::new(clock);
    let budget =
        Budget::double(BudgetKind::PaymentCreation, Window::per_minute(u32::MAX), Window::new(u32::MAX, 10));
    let subjects: Vec<String> = (0..subjects).map(|subject| format!("key-{subject}")).collect();
    let start = Instant::now();
    for subject in subjects.iter().cycle().take(CHECKS as usize) {
        black_box(limiter.check(budget, black_box(subject)));
    }
    let nanoseconds = start.elapsed().as_nanos() / u128::from(CHECKS);
    println!("{name:<48} {nanoseconds:>6} ns per check");
}

fn main() {
    measure("one key, all in a second", Arc::new(SystemClock), 1);
    measure("one key, every second of the minute in use", Arc::new(Ticking::default()), 1);
    measure("10,000 keys", Arc::new(SystemClock), 10_000);
    measure("10,000 keys, seen every ten seconds", Arc::new(Ticking::default()), 10_000);
}
