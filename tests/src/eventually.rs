//! Waiting for what takes time, without sleeping for a guessed while.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

/// Long, because a build machine has two cores and runs several gateways at once; what comes true costs none of it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks `probe` again and again until it answers `Some`; panics with `what` when it did not for a minute.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
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
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
    }
}
