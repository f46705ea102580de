//! Deletes expired keys: the nonces of signatures, and idempotency keys with their kept answers after a day.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use quipu_commit::UsedKeys;
use quipu_kernel::{Clock, Timestamp, locked};
use tokio::time::Instant;

use super::deletion::Deletion;
use crate::stop_signal::StopSignal;

/// The time between two rounds.
const PAUSE: Duration = Duration::from_mins(1);
/// The most rows of each kind deleted in one commit, few enough that the wait behind it goes unnoticed.
const AT_ONCE: u32 = 2_000;

/// The worker that deletes expired keys.
pub(crate) struct ExpiredKeys {
    pub(crate) keys: Arc<dyn UsedKeys>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ExpiredKeys {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, stop: StopSignal) {
        let steady = Mutex::new(SteadyTime { at: self.clock.now(), since: Instant::now() });
        let delete = || {
            let now = locked(&steady).at(self.clock.now(), Instant::now());
            self.keys.delete_expired(now, AT_ONCE)
        };
        let what = "expired nonces and answers";
        Deletion { what, at_once: AT_ONCE, pause: PAUSE }.run(stop, delete).await;
    }
}

/// The time without the jumps of a clock that is set ahead by mistake: a key that it deletes early could be used twice once
/// the clock is right again.
struct SteadyTime {
    /// The time when the clock was last believed, by that clock, and by one that never jumps.
    at: Timestamp,
    since: Instant,
}

impl SteadyTime {
    /// How far the clock may be ahead of the time that has passed.
    const JUMP: Duration = Duration::from_secs(10);
    /// After this time it is believed wherever it stands.
    const DOUBT: Duration = Duration::from_hours(1);

    fn at(&mut self, clock: Timestamp, now: Instant) -> Timestamp {
        let passed = now - self.since;
        let expected = self.at.plus(passed);
        if clock > expected.plus(Self::JUMP) && passed < Self::DOUBT {
            return expected;
        }
        *self = Self { at: clock, since: now };
        clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_ahead_is_believed_after_an_hour_and_one_that_was_set_back_at_once() {
        let (start, begun) = (Timestamp::from_millis(1_000_000_000), Instant::now());
        let mut steady = SteadyTime { at: start, since: begun };
        let seconds = Duration::from_secs;
        for (passed, clock, told) in [
            (60, 61, 61),
            (120, 120 + 86_400, 121),
            (1_800, 1_800 + 86_400, 1_801),
            (1_860, 1_861, 1_861),
            (1_920, 1_000, 1_000),
            (1_980, 1_060, 1_060),
            (2_040, 90_000, 1_120),
            (5_640, 93_600, 93_600),
        ] {
            let at = steady.at(start.plus(seconds(clock)), begun + seconds(passed));
            assert_eq!(at, start.plus(seconds(told)), "after {passed} s");
        }
    }
}
