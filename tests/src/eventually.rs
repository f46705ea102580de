//! Waiting for what takes time, without sleeping for a guessed while.

use std::time::{Duration, Instant};

/// Asks `probe` again and again until it answers `Some`; panics with `what` when `deadline` has passed.
pub async fn eventually<T, F>(what: &str, deadline: Duration, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let begun = Instant::now();
    let mut pause = Duration::from_millis(5);
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(begun.elapsed() < deadline, "waited {deadline:?} in vain for {what}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}
