//! The source of the current time.

use crate::timestamp::Timestamp;

/// The time of day as a port, so that tests move time instead of waiting for it.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp::from_millis(
            elapsed.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}
