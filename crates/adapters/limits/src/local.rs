//! Limits counted in memory: the only counts on a single node, and the fall-back of Redis.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use quipu_kernel::{Clock, locked};
use quipu_merchants::{Budget, BudgetKind, LimitsNotShared, RateDecision, RateLimiter, RateVerdict};

use crate::sliding::SlidingCount;

/// The locks of each kind of budget, so that checks of different subjects seldom wait for each other.
const SHARDS: usize = 16;
/// The subjects remembered for each kind. There are far fewer keys; only invented addresses could be as many.
const SUBJECTS: usize = 1 << 17;
/// The seconds between two searches of a shard for subjects to forget.
const SWEEP_SECONDS: i64 = 30;

/// A limiter for one node, in memory.
///
/// When a kind of budget has more subjects at once than it can remember, the others share a single count:
/// memory stays bounded, and a flood of subjects exceeds no limit.
pub struct LocalLimiter {
    clock: Arc<dyn Clock>,
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    subjects_per_shard: usize,
    has_untold: AtomicBool,
}

/// The requests of one subject that have not been reported to other nodes.
pub(crate) struct Untold {
    pub(crate) kind: BudgetKind,
    pub(crate) subject: Box<str>,
    /// For how many seconds they matter.
    pub(crate) kept_for: u32,
    /// How many seconds ago, and how many requests.
    pub(crate) ages: Vec<(i64, u32)>,
}

#[derive(Default)]
struct Shard {
    subjects: HashMap<Box<str>, SlidingCount>,
    overflow: SlidingCount,
    swept_at: i64,
}

impl LocalLimiter {
    /// A limiter that counts in the seconds of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_capacity(clock, SUBJECTS)
    }

    /// Counts one request of `subject` if `budget` has room for it: [`RateLimiter::take`] for callers that know that
    /// they need not wait.
    pub fn check(&self, budget: Budget, subject: &str) -> RateVerdict {
        self.count(budget, subject, true)
    }

    /// Like `check`, for a request that other nodes do not know of and that is reported to them later.
    pub(crate) fn check_apart(&self, budget: Budget, subject: &str) -> RateVerdict {
        let verdict = self.count(budget, subject, false);
        if verdict.allowed {
            self.has_untold.store(true, Ordering::Relaxed);
        }
        verdict
    }

    /// The verdict on one more request of `subject`, without counting it.
    pub(crate) fn look(&self, budget: Budget, subject: &str) -> RateVerdict {
        self.with_count(budget, subject, |count, now| count.look(budget, now))
    }

    fn count(&self, budget: Budget, subject: &str, is_told: bool) -> RateVerdict {
        self.with_count(budget, subject, |count, now| count.take(budget, now, is_told))
    }

    fn with_count(
        &self,
        budget: Budget,
        subject: &str,
        judge: impl FnOnce(&mut SlidingCount, i64) -> RateVerdict,
    ) -> RateVerdict {
        let now = self.clock.now().seconds();
        let mut shard = self.shard(budget.kind(), subject);
        shard.sweep(now, self.subjects_per_shard);
        judge(shard.count_of(subject, self.subjects_per_shard), now)
    }

    /// All requests that other nodes do not know of; from now on they count as reported. Requests of subjects
    /// beyond those remembered have no name and are left out.
    pub(crate) fn take_unreported(&self) -> Vec<Untold> {
        let mut all = Vec::new();
        if !self.has_untold.swap(false, Ordering::Relaxed) {
            return all;
        }
        let now = self.clock.now().seconds();
        for (index, shard) in self.shards.iter().enumerate() {
            let kind = BudgetKind::ALL[index / SHARDS];
            let mut shard = locked(shard);
            for (subject, count) in &mut shard.subjects {
                let seconds = count.take_unreported();
                if !seconds.is_empty() && !count.is_idle(now) {
                    let ages = seconds.into_iter().map(|(at, count)| ((now - at).max(0), count)).collect();
                    all.push(Untold { kind, subject: subject.clone(), kept_for: count.kept_for(), ages });
                }
            }
        }
        all
    }

    /// Notes that the memory to which requests were reported has lost all of them.
    pub(crate) fn forget_told(&self) {
        for shard in &self.shards {
            let mut shard = locked(shard);
            shard.subjects.values_mut().for_each(SlidingCount::forget_told);
        }
        self.has_untold.store(true, Ordering::Relaxed);
    }

    fn with_capacity(clock: Arc<dyn Clock>, subjects: usize) -> Self {
        let shards = BudgetKind::ALL.len() * SHARDS;
        Self {
            clock,
            shards: std::iter::repeat_with(Mutex::default).take(shards).collect(),
            hasher: RandomState::new(),
            subjects_per_shard: subjects.div_ceil(SHARDS),
            has_untold: AtomicBool::new(false),
        }
    }

    fn shard(&self, kind: BudgetKind, subject: &str) -> MutexGuard<'_, Shard> {
        let shard = self.hasher.hash_one(subject) % SHARDS as u64;
        let index = kind as usize * SHARDS + usize::try_from(shard).unwrap_or(0);
        // The counts are consistent after every statement, so a thread that panicked left nothing half done.
        locked(&self.shards[index])
    }
}

impl Shard {
    fn count_of(&mut self, subject: &str, capacity: usize) -> &mut SlidingCount {
        if !self.subjects.contains_key(subject) {
            if self.subjects.len() >= capacity {
                return &mut self.overflow;
            }
            self.subjects.insert(subject.into(), SlidingCount::default());
        }
        self.subjects.get_mut(subject).unwrap_or(&mut self.overflow)
    }

    /// Forgets idle subjects, from time to time and whenever there is no room for another.
    fn sweep(&mut self, now: i64, capacity: usize) {
        let elapsed = (now - self.swept_at).abs();
        if elapsed >= SWEEP_SECONDS || (elapsed > 0 && self.subjects.len() >= capacity) {
            self.swept_at = now;
            self.subjects.retain(|_, count| !count.is_idle(now));
            if self.subjects.capacity() > 4 * self.subjects.len().max(64) {
                self.subjects.shrink_to_fit();
            }
        }
    }
}

#[async_trait]
impl RateLimiter for LocalLimiter {
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> RateDecision<'a> {
        RateDecision::Ready(self.check(budget, subject))
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        Ok(())
    }
}

impl std::fmt::Debug for LocalLimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalLimiter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicI64, thread};

    use quipu_kernel::Timestamp;
    use quipu_merchants::Window;

    use super::*;

    #[derive(Default)]
    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed) * 1000)
        }
    }

    const STANDARD: Budget = Budget::single(BudgetKind::Standard, Window::per_minute(100));

    fn remembered(limiter: &LocalLimiter) -> usize {
        limiter.shards.iter().map(|shard| shard.lock().expect("a shard").subjects.len()).sum()
    }

    #[test]
    fn subjects_and_kinds_are_counted_apart() {
        let limiter = LocalLimiter::new(Arc::new(Hand::default()));
        let pages = Budget::single(BudgetKind::Pages, Window::per_minute(100));
        assert_eq!(limiter.check(STANDARD, "a").remaining, 99);
        assert_eq!(limiter.check(STANDARD, "a").remaining, 98);
        assert_eq!(limiter.check(STANDARD, "b").remaining, 99);
        assert_eq!(limiter.check(pages, "a").remaining, 99);
    }

    #[test]
    fn what_others_do_not_know_of_is_told_by_kind_and_subject() {
        let clock = Arc::new(Hand::default());
        let limiter = LocalLimiter::new(clock.clone());
        let pages = Budget::single(BudgetKind::Pages, Window::per_minute(100));
        assert!(limiter.check(STANDARD, "a").allowed && limiter.take_unreported().is_empty());
        assert!(limiter.check_apart(pages, "a").allowed && limiter.check_apart(pages, "a").allowed);
        clock.0.store(5, Ordering::Relaxed);
        let told = limiter.take_unreported();
        assert_eq!((told.len(), told[0].kind, &*told[0].subject), (1, BudgetKind::Pages, "a"));
        assert_eq!((&told[0].ages, told[0].kept_for), (&vec![(5, 2)], 60));
        assert!(limiter.take_unreported().is_empty());
        limiter.forget_told();
        assert_eq!(limiter.take_unreported().len(), 2);
    }

    #[test]
    fn many_threads_together_get_no_more_than_the_limit() {
        let limiter = LocalLimiter::new(Arc::new(Hand::default()));
        let work = || (0..200).filter(|_| limiter.check(STANDARD, "a").allowed).count();
        let allowed: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(allowed, 100);
    }

    #[test]
    fn idle_subjects_are_forgotten() {
        let clock = Arc::new(Hand::default());
        let limiter = LocalLimiter::new(clock.clone());
        let visit = |subjects| {
            for subject in 0..subjects {
                let _ = limiter.check(STANDARD, &subject.to_string());
            }
        };
        visit(2000);
        assert_eq!(remembered(&limiter), 2000);
        clock.0.store(62, Ordering::Relaxed);
        visit(200);
        assert_eq!(remembered(&limiter), 200);
    }

    #[test]
    fn a_flood_of_subjects_shares_one_count_and_takes_no_memory() {
        let limiter = LocalLimiter::with_capacity(Arc::new(Hand::default()), 64);
        let allowed =
            (0..20_000).filter(|subject| limiter.check(STANDARD, &subject.to_string()).allowed).count();
        assert!(remembered(&limiter) <= 64);
        assert!(allowed <= 64 + SHARDS * 100, "{allowed}");
    }
}
