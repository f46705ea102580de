//! A clock that stands until it is moved.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use quipu_kernel::{Clock, Timestamp};

/// 2026-01-01T00:00:00Z
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A clock that stands until it is moved.
#[derive(Debug)]
pub struct HandClock(AtomicI64);

impl HandClock {
    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::Relaxed);
    }

    /// Moves it to `at`, unless it is later already.
    pub fn reach(&self, at: Timestamp) {
        self.0.fetch_max(at.millis(), Ordering::Relaxed);
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self(AtomicI64::new(START.millis()))
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}
