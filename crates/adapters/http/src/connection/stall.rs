//! How long a client keeps an answer waiting.

use std::time::{Duration, Instant};

use crate::state::least_within;

/// For how long the bytes of an answer have waited for the client, and how many it has taken since they first
/// waited. A long answer is written in portions: the pauses in which nothing waits do not count, but they do
/// not end the count either, or a client could take one portion in each period.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// Since when bytes wait; `None` in a pause.
    since: Option<Instant>,
    /// For how long they had waited before.
    waited: Duration,
    taken: u64,
}

impl Stall {
    /// Notes that bytes wait.
    pub(super) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Notes that nothing waits at present.
    pub(super) fn pause(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.waited += now.duration_since(since);
        }
    }

    /// Notes that the client has taken bytes.
    pub(super) fn take(&mut self, bytes: usize) {
        if self.since.is_some() || !self.waited.is_zero() {
            self.taken += bytes as u64;
        }
    }

    /// When the bytes will have waited for `patience`; `None` in a pause.
    pub(super) fn deadline(&self, patience: Duration) -> Option<Instant> {
        Some(self.since? + patience.saturating_sub(self.waited))
    }

    /// Begins anew if the client has taken enough for this `patience`. Returns whether it has.
    pub(super) fn renew(&mut self, now: Instant, patience: Duration) -> bool {
        let is_enough = self.taken >= least_within(patience);
        if is_enough {
            *self = Self { since: Some(now), ..Self::default() };
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// For how many seconds a client is waited for that is waited for in every second of a long answer, and
    /// takes this many bytes in each; `None` if it is for all five minutes.
    fn waits(bytes: usize, pauses: bool) -> Option<u64> {
        let (begun, mut stall) = (Instant::now(), Stall::default());
        for second in 0..300 {
            let now = begun + Duration::from_secs(second);
            stall.begin(now);
            if stall.deadline(PATIENCE).is_some_and(|deadline| deadline <= now) && !stall.renew(now, PATIENCE)
            {
                return Some(second);
            }
            stall.take(bytes);
            if pauses {
                stall.pause(now + Duration::from_secs(1));
                assert_eq!(stall.deadline(PATIENCE), None);
            }
        }
        None
    }

    #[test]
    fn a_client_is_waited_for_as_long_as_it_takes_enough_however_many_portions_there_are() {
        for pauses in [false, true] {
            assert_eq!(waits(16 * 1024, pauses), None);
            assert_eq!(waits(8 * 1024, pauses), Some(30));
            assert_eq!(waits(0, pauses), Some(30));
        }
    }

    #[test]
    fn time_in_which_nothing_waits_is_not_counted() {
        let (begun, mut stall) = (Instant::now(), Stall::default());
        let at = |second| begun + Duration::from_secs(second);
        stall.begin(at(0));
        stall.pause(at(10));
        stall.begin(at(1000));
        assert_eq!(stall.deadline(PATIENCE), Some(at(1020)));
    }

    #[test]
    fn what_the_system_takes_before_anything_waits_is_not_counted() {
        let (begun, mut stall) = (Instant::now(), Stall::default());
        stall.take(1024 * 1024);
        stall.begin(begun);
        assert!(!stall.renew(begun + PATIENCE, PATIENCE));
    }
}
