//! Waiting for what takes time, without sleeping for a guessed while.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

/// Asks `probe` again and again until it answers `Some`; panics with `what` when `deadline` has passed.
pub async fn eventually<T, F>(what: &str, deadline: Duration, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let begun = Instant::now();
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        if let Some(found) = probe().await {
            return found;
        }
        assert!(begun.elapsed() < deadline, "waited {deadline:?} in vain for {what}");
    }
}
