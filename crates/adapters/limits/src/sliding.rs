//! The sliding window: the requests of a subject, counted second by second.

use std::{cmp::Reverse, collections::VecDeque};

use quipu_merchants::{Budget, RateVerdict, Window};

/// One second of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Second {
    at: i64,
    /// How many requests there were.
    count: u32,
    /// How many of these have not been reported to other nodes.
    untold: u32,
}

/// The seconds in which a subject had requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct SlidingCount {
    seconds: VecDeque<Second>,
    /// For how many seconds a count matters: the longest window of the last budget.
    kept_for: u32,
}

impl SlidingCount {
    /// Counts a request in second `now` if every window has room for it. `is_told` says whether other nodes
    /// know of it.
    pub(crate) fn take(&mut self, budget: Budget, now: i64, is_told: bool) -> RateVerdict {
        let now = self.advance(budget, now);
        let allowed = self.has_room(budget, now);
        if allowed {
            self.count(now, is_told);
        }
        self.verdict(budget, now, allowed)
    }

    /// The verdict on a request in second `now`, without counting it.
    pub(crate) fn look(&mut self, budget: Budget, now: i64) -> RateVerdict {
        let now = self.advance(budget, now);
        let allowed = self.has_room(budget, now);
        self.verdict(budget, now, allowed)
    }

    /// The requests that no other node knows of, by second; from now on they count as reported.
    pub(crate) fn take_unreported(&mut self) -> Vec<(i64, u32)> {
        let untold = self.seconds.iter_mut().filter(|second| second.untold > 0);
        untold.map(|second| (second.at, std::mem::take(&mut second.untold))).collect()
    }

    /// Notes that the memory to which requests were reported has lost all of them.
    pub(crate) fn forget_told(&mut self) {
        self.seconds.iter_mut().for_each(|second| second.untold = second.count);
    }

    /// For how many seconds the counts matter.
    pub(crate) const fn kept_for(&self) -> u32 {
        self.kept_for
    }

    /// Whether no count in here matters any more.
    pub(crate) fn is_idle(&self, now: i64) -> bool {
        self.seconds.back().is_none_or(|last| last.at < now - i64::from(self.kept_for))
    }

    /// Forgets seconds that have left the longest window, and returns the second to count in.
    fn advance(&mut self, budget: Budget, now: i64) -> i64 {
        self.kept_for = budget.longest_seconds();
        let kept_for = i64::from(self.kept_for);
        let last = self.seconds.back().map_or(now, |last| last.at);
        // A clock set back a little must not open the window again; a clock set back by more was wrong
        // before.
        let now = if last - now > kept_for { now } else { now.max(last) };
        while self.seconds.front().is_some_and(|first| first.at < now - kept_for) {
            self.seconds.pop_front();
        }
        while self.seconds.back().is_some_and(|last| last.at > now) {
            self.seconds.pop_back();
        }
        now
    }

    fn has_room(&self, budget: Budget, now: i64) -> bool {
        budget.windows().all(|window| self.used(window, now) < window.limit())
    }

    fn count(&mut self, now: i64, is_told: bool) {
        let untold = u32::from(!is_told);
        match self.seconds.back_mut() {
            Some(last) if last.at == now => {
                last.count = last.count.saturating_add(1);
                last.untold = last.untold.saturating_add(untold);
            }
            _ => self.seconds.push_back(Second { at: now, count: 1, untold }),
        }
    }

    /// The seconds that are at least partly in the window: its length, and one more at the far end, a part of
    /// which may still be inside.
    fn inside(&self, window: Window, now: i64) -> impl Iterator<Item = (i64, u32)> {
        let first = now - i64::from(window.seconds());
        self.seconds.iter().map(|second| (second.at, second.count)).skip_while(move |(at, _)| *at < first)
    }

    fn used(&self, window: Window, now: i64) -> u32 {
        self.inside(window, now).fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    fn verdict(&self, budget: Budget, now: i64, allowed: bool) -> RateVerdict {
        let state = |window: Window| {
            let remaining = window.limit().saturating_sub(self.used(window, now));
            let oldest = self.inside(window, now).next().map_or(now, |(second, _)| second);
            (window, remaining, leaves(window, oldest))
        };
        let tightest = budget.windows().map(state).min_by_key(|state| (state.1, Reverse(state.2)));
        let (window, remaining, reset_epoch_seconds) = tightest.unwrap_or((Window::new(0, 1), 0, now));
        let waits = budget.windows().map(|window| self.opens(window, now) - now).max();
        let wait = if allowed { 0 } else { waits.unwrap_or(0) };
        let retry_after_seconds = u32::try_from(wait).unwrap_or(0);
        let limit = window.limit();
        RateVerdict { allowed, is_judged: true, limit, remaining, reset_epoch_seconds, retry_after_seconds }
    }

    /// The first second in which the window has room for one more request.
    fn opens(&self, window: Window, now: i64) -> i64 {
        let used = self.used(window, now);
        if used < window.limit() {
            return now;
        }
        let mut too_many = used - window.limit() + 1;
        for (second, count) in self.inside(window, now) {
            too_many = too_many.saturating_sub(count);
            if too_many == 0 {
                return leaves(window, second);
            }
        }
        // A limit of zero never opens; the caller may ask again after the length of a window.
        leaves(window, now)
    }
}

/// The second when all of `second` has left the window.
fn leaves(window: Window, second: i64) -> i64 {
    second + i64::from(window.seconds()) + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quipu_merchants::BudgetKind;

    use super::*;

    fn budget(windows: &[(u32, u32)]) -> Budget {
        let window = |(limit, seconds): (u32, u32)| Window::new(limit, seconds);
        match *windows {
            [first, second] => Budget::double(BudgetKind::PaymentCreation, window(first), window(second)),
            _ => Budget::single(BudgetKind::Standard, window(windows[0])),
        }
    }

    fn take_many(count: &mut SlidingCount, budget: Budget, now: i64, times: usize) -> usize {
        (0..times).filter(|_| count.take(budget, now, true).allowed).count()
    }

    proptest! {
        /// The naive model: the milliseconds of all allowed requests, counted in every window that ends at
        /// one.
        #[test]
        fn no_window_ever_sees_more_than_its_limit(
            windows in prop::collection::vec((1_u32..8, 1_u32..8), 1..3),
            gaps in prop::collection::vec(prop_oneof![Just(0_i64), 0_i64..400, 900_i64..1100, 0_i64..9000], 1..200),
        ) {
            let budget = budget(&windows);
            let mut count = SlidingCount::default();
            let mut allowed: Vec<i64> = Vec::new();
            let mut now = 1_763_683_200_000;
            for gap in gaps {
                now += gap;
                let fits = windows.iter().all(|(limit, seconds)| {
                    let since = now.div_euclid(1000) - i64::from(*seconds);
                    allowed.iter().filter(|at| at.div_euclid(1000) >= since).count() < *limit as usize
                });
                let verdict = count.take(budget, now.div_euclid(1000), true);
                prop_assert_eq!(verdict.allowed, fits, "as the model decides");
                if verdict.allowed {
                    allowed.push(now);
                }
            }
            for (limit, seconds) in windows {
                for end in &allowed {
                    let start = end - i64::from(seconds) * 1000;
                    let seen = allowed.iter().filter(|at| (start..=*end).contains(at)).count();
                    prop_assert!(seen <= limit as usize, "{seen} in {seconds} s");
                }
            }
        }

        /// Nothing passes before the time that a refusal names, and at that time it does.
        #[test]
        fn a_refusal_names_the_first_second_that_passes(
            windows in prop::collection::vec((1_u32..6, 1_u32..6), 1..3),
            gaps in prop::collection::vec(0_i64..3, 1..60),
        ) {
            let budget = budget(&windows);
            let mut count = SlidingCount::default();
            let mut now = 1_763_683_200;
            for gap in gaps {
                now += gap;
                let verdict = count.take(budget, now, true);
                if verdict.allowed {
                    prop_assert_eq!(verdict.retry_after_seconds, 0);
                    continue;
                }
                let opens = now + i64::from(verdict.retry_after_seconds);
                prop_assert!(opens > now && !count.take(budget, opens - 1, true).allowed);
                now = opens;
                prop_assert!(count.take(budget, now, true).allowed);
            }
        }
    }

    #[test]
    fn both_windows_of_payment_creation_hold() {
        let budget = budget(&[(5000, 60), (500, 10)]);
        let mut count = SlidingCount::default();
        assert_eq!(take_many(&mut count, budget, 0, 600), 500);
        assert_eq!(take_many(&mut count, budget, 10, 600), 0, "the first second is still inside in part");
        for burst in 1..=5 {
            assert_eq!(take_many(&mut count, budget, burst * 11, 600), 500);
        }
        assert_eq!(take_many(&mut count, budget, 60, 600), 0);
        // Ten bursts of 500 do not fit into one minute of eleven-second steps, so the minute is filled in
        // another way.
        let narrow = self::budget(&[(700, 60), (500, 10)]);
        let mut count = SlidingCount::default();
        assert_eq!(take_many(&mut count, narrow, 0, 600), 500);
        assert_eq!(take_many(&mut count, narrow, 11, 600), 200);
        let refused = count.take(narrow, 11, true);
        assert_eq!((refused.limit, refused.remaining, refused.retry_after_seconds), (700, 0, 50));
    }

    #[test]
    fn what_was_counted_is_told_once_and_again_to_whoever_forgot() {
        let budget = budget(&[(10, 60)]);
        let mut count = SlidingCount::default();
        for (at, is_told) in [(1, true), (1, false), (1, false), (3, false), (4, true)] {
            assert!(count.take(budget, at, is_told).allowed);
        }
        assert_eq!(count.take_unreported(), [(1, 2), (3, 1)]);
        assert_eq!(count.take_unreported(), []);
        count.forget_told();
        assert_eq!(count.take_unreported(), [(1, 3), (3, 1), (4, 1)]);
    }

    #[test]
    fn the_window_with_less_left_is_reported() {
        let budget = budget(&[(5000, 60), (500, 10)]);
        let mut count = SlidingCount::default();
        let first = count.take(budget, 100, true);
        assert_eq!((first.limit, first.remaining, first.reset_epoch_seconds), (500, 499, 111));
        take_many(&mut count, budget, 100, 499);
        let refused = count.take(budget, 104, true);
        assert!(!refused.allowed);
        assert_eq!(
            (refused.remaining, refused.reset_epoch_seconds, refused.retry_after_seconds),
            (0, 111, 7)
        );
    }

    #[test]
    fn a_refused_request_consumes_nothing() {
        let budget = budget(&[(1, 10)]);
        let mut count = SlidingCount::default();
        assert_eq!(take_many(&mut count, budget, 0, 1), 1);
        assert_eq!((1..=10).map(|now| take_many(&mut count, budget, now, 5)).sum::<usize>(), 0);
        assert_eq!(take_many(&mut count, budget, 11, 1), 1);
    }

    #[test]
    fn a_look_says_whether_there_is_room_and_consumes_nothing() {
        let budget = budget(&[(2, 10)]);
        let mut count = SlidingCount::default();
        assert!((0..5).all(|_| count.look(budget, 0).allowed));
        assert_eq!(take_many(&mut count, budget, 0, 5), 2);
        assert_eq!(count.look(budget, 1), count.take(budget, 1, true));
        assert!(count.look(budget, 11).allowed);
    }

    #[test]
    fn a_changed_limit_applies_to_what_was_counted_before() {
        let mut count = SlidingCount::default();
        assert_eq!(take_many(&mut count, budget(&[(10, 60)]), 0, 10), 10);
        let lowered = count.take(budget(&[(5, 60)]), 1, true);
        assert!(!lowered.allowed && lowered.remaining == 0);
        assert_eq!(take_many(&mut count, budget(&[(12, 60)]), 1, 10), 2);
        assert_eq!(take_many(&mut count, budget(&[(0, 60)]), 1000, 10), 0);
    }

    #[test]
    fn a_clock_set_back_a_little_opens_nothing_and_a_wrong_one_locks_nobody_out() {
        let budget = budget(&[(3, 10)]);
        let mut count = SlidingCount::default();
        assert_eq!(take_many(&mut count, budget, 100, 5), 3);
        assert_eq!(take_many(&mut count, budget, 95, 5), 0);
        assert_eq!(take_many(&mut count, budget, 111, 5), 3);
        assert_eq!(take_many(&mut count, budget, 50, 5), 3);
    }

    #[test]
    fn a_subject_is_idle_once_its_last_second_has_left() {
        let mut count = SlidingCount::default();
        assert!(count.is_idle(0));
        let _ = count.take(budget(&[(3, 10)]), 100, true);
        assert!(!count.is_idle(110));
        assert!(count.is_idle(111));
    }
}
