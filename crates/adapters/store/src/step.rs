//! One step of a call: a wait for the database, bounded together with the call's other waits.

use std::{sync::Arc, time::Duration};

use quipu_commit::CallWaits;
use tokio::time::Instant;

use crate::settings::Times;

/// A wait, which lasts until this is dropped.
pub(crate) struct Step {
    /// The time at which the wait must end: when the call's time is used up, or after [`Times::call`] if it
    /// belongs to no call.
    pub(crate) deadline: Instant,
    waits: Option<Arc<CallWaits>>,
}

impl Step {
    /// Begins a wait.
    pub(crate) fn begin(times: Times) -> Self {
        let (now, waits) = (Instant::now(), CallWaits::current());
        let waited = waits.as_ref().map_or(Duration::ZERO, |waits| {
            waits.begin(now.into_std());
            waits.until(now.into_std())
        });
        Self { deadline: now + times.call.saturating_sub(waited), waits }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(waits) = &self.waits {
            waits.end(Instant::now().into_std());
        }
    }
}
