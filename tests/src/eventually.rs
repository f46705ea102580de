//! Waiting until a condition holds, without sleeping for a guessed time.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

/// Long, because a build machine has two cores and runs several gateways at once; a fulfilled condition ends
/// the wait early.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many times longer than usual a test with kills and races runs: `QUIPU_EFFORT`, 1 by default.
pub fn effort() -> usize {
    std::env::var("QUIPU_EFFORT").map_or(1, |text| text.parse().expect("QUIPU_EFFORT is a whole number"))
}

/// Calls `probe` repeatedly until it returns `Some`; panics with `what` after a minute in vain, or after as
/// many minutes as the effort, up to ten.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let (begun, patience) = (Instant::now(), PATIENCE * u32::try_from(effort().min(10)).unwrap_or(1));
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        if let Some(found) = probe().await {
            return found;
        }
        assert!(begun.elapsed() < patience, "waited {patience:?} in vain for {what}");
    }
}
