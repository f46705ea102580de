//! The wait of a call for the database, bounded together with the call's other waits.

use std::{sync::Arc, time::Duration};

use quipu_commit::CallWaits;
use tokio::time::Instant;

use crate::settings::Times;

/// A wait, which lasts until this is dropped.
pub(crate) struct CallWait {
    /// The time at which the wait must end: when the call's time is used up, or after [`Times::call`] if it
    /// belongs to no call.
    pub(crate) deadline: Instant,
    waits: Option<Arc<CallWaits>>,
}

impl CallWait {
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

/// How much longer this call may wait for the database; as long as any call if this belongs to none.
pub(crate) fn time_left(times: Times) -> Duration {
    let now = Instant::now().into_std();
    let waited = CallWaits::current().map_or(Duration::ZERO, |waits| waits.until(now));
    times.call.saturating_sub(waited)
}

impl Drop for CallWait {
    fn drop(&mut self) {
        if let Some(waits) = &self.waits {
            waits.end(Instant::now().into_std());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::StoreSettings;

    #[tokio::test]
    async fn a_call_has_the_time_left_that_it_has_not_waited() {
        let times = StoreSettings::new("sqlite://x").times();
        assert_eq!(time_left(times), times.call, "this is no call");
        let call = Arc::new(CallWaits::default());
        let begun = std::time::Instant::now();
        call.begin(begun);
        call.end(begun + times.call.saturating_sub(Duration::from_secs(1)));
        let left = Arc::clone(&call).around(async { time_left(times) }).await;
        assert_eq!(left, Duration::from_secs(1));
        call.begin(begun);
        call.end(begun + Duration::from_secs(2));
        assert_eq!(call.around(async { time_left(times) }).await, Duration::ZERO);
    }
}
