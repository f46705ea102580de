//! Beyond which time no node can have sealed.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::lock::locked;

/// What this process knows of the time up to which any node may have sealed. Between two looks others seal on, so that
/// what was known grows with the time that has passed.
#[derive(Default)]
pub(crate) struct SealBound(Mutex<Option<(i64, Instant)>>);

impl SealBound {
    /// Notes that at present no node can have sealed beyond `until`, in milliseconds since 1970.
    pub(crate) fn learn(&self, until: i64) {
        self.learn_at(until, Instant::now());
    }

    /// The time, in milliseconds since 1970, beyond which no node can have sealed; 0 if nothing is known.
    pub(crate) fn at_most(&self) -> i64 {
        self.at_most_at(Instant::now())
    }

    fn learn_at(&self, until: i64, now: Instant) {
        let mut known = locked(&self.0);
        if known.is_none_or(|known| grown(known, now) < until) {
            *known = Some((until, now));
        }
    }

    fn at_most_at(&self, now: Instant) -> i64 {
        locked(&self.0).map_or(0, |known| grown(known, now))
    }
}

fn grown((until, learnt): (i64, Instant), now: Instant) -> i64 {
    let passed: Duration = now.saturating_duration_since(learnt);
    until.saturating_add(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_grows_with_time_and_never_shrinks() {
        let (known, begun) = (SealBound::default(), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(known.at_most_at(begun), 0);
        known.learn_at(10_000, begun);
        assert_eq!(known.at_most_at(after(30)), 40_000);
        known.learn_at(39_000, after(30));
        assert_eq!(known.at_most_at(after(31)), 41_000);
        known.learn_at(50_000, after(31));
        assert_eq!(known.at_most_at(after(32)), 51_000);
    }
}
