//! A clock for what cannot be undone when the machine's clock turns out to be wrong.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use quipu_kernel::{Clock, Timestamp, locked};

/// A clock without the jumps of another one that is set ahead by mistake: what it deletes, disables or seals early stays so
/// once the other is right again.
pub(crate) struct SteadyClock {
    clock: Arc<dyn Clock>,
    believed: Mutex<Believed>,
}

impl SteadyClock {
    /// Begins with the time of `clock`.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let believed = Mutex::new(Believed { at: clock.now(), since: Instant::now() });
        Self { clock, believed }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let mut believed = locked(&self.believed);
        believed.at(self.clock.now(), Instant::now())
    }
}

/// The time when the clock was last believed, by that clock, and by one that never jumps.
struct Believed {
    at: Timestamp,
    since: Instant,
}

impl Believed {
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
        let mut believed = Believed { at: start, since: begun };
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
            let at = believed.at(start.plus(seconds(clock)), begun + seconds(passed));
            assert_eq!(at, start.plus(seconds(told)), "after {passed} s");
        }
    }
}
