//! Limits the speed of all uploads together, so that they leave the processor and disk to payments.

use std::{sync::Mutex, time::Duration};

use quipu_kernel::locked;

use tokio::time::{Instant, sleep_until};

/// Gives each piece its turn, in the order of the requests.
pub(crate) struct Pace {
    bytes_per_second: u64,
    /// The time when all pieces requested so far have had their turn.
    free_at: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_at: Mutex::new(Instant::now()) }
    }

    /// Waits until a piece of `bytes` bytes may be taken.
    pub(crate) async fn turn(&self, bytes: usize) {
        let at = self.reserve(Instant::now(), bytes);
        if at > Instant::now() {
            sleep_until(at).await;
        }
    }

    fn reserve(&self, now: Instant, bytes: usize) -> Instant {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / self.bytes_per_second;
        // It changes by a single assignment, so a thread that panicked left nothing half done.
        let mut free_at = locked(&self.free_at);
        let at = (*free_at).max(now);
        *free_at = at + Duration::from_nanos(nanos);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_at_the_given_rate() {
        let (pace, now) = (Pace::new(1_000), Instant::now());
        assert_eq!(pace.reserve(now, 500), now);
        assert_eq!(pace.reserve(now, 2_000), now + Duration::from_millis(500));
        assert_eq!(pace.reserve(now, 1), now + Duration::from_millis(2_500));
    }

    #[test]
    fn time_in_which_nobody_asked_is_not_saved_up() {
        let (pace, now) = (Pace::new(1_000), Instant::now());
        assert_eq!(pace.reserve(now, 1_000), now);
        let later = now + Duration::from_mins(1);
        assert_eq!(pace.reserve(later, 1_000), later);
        assert_eq!(pace.reserve(later, 1_000), later + Duration::from_secs(1));
    }
}
