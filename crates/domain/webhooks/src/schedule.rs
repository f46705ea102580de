//! The schedule of retries.

use std::time::Duration;

use quipu_kernel::Entropy;

/// The periods of retrying, as an installation configures them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The gaps between attempts; the first one follows the first attempt. When they are used up, the
    /// delivery fails.
    pub gaps: Vec<Duration>,
    /// How long an endpoint may be without a success, counted from its first failed attempt, before it is
    /// disabled.
    pub disable_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let hours = Duration::from_hours;
        let gaps = [Duration::from_secs(5), Duration::from_mins(5), Duration::from_mins(30)].into_iter();
        Self { gaps: gaps.chain([2, 5, 10, 14, 20, 24].map(hours)).collect(), disable_after: hours(5 * 24) }
    }
}

impl RetryPolicy {
    /// The longest time over which a delivery may be tried: its receiver asks for twice each gap.
    pub fn longest(&self) -> Duration {
        self.gaps.iter().fold(Duration::ZERO, |sum, gap| sum.saturating_add(gap.saturating_mul(2)))
    }

    /// The wait after attempt number `step` of its round, counted from 0; `None` when the round is over.
    ///
    /// The wait that the receiver asks for is honoured between the gap and twice the gap. If it asks for
    /// none, the gap is stretched by `spread`.
    pub fn wait(&self, step: u32, requested_wait: Option<Duration>, spread: Spread) -> Option<Duration> {
        let gap = *self.gaps.get(usize::try_from(step).ok()?)?;
        let wait = requested_wait.map(|wait| wait.clamp(gap, gap.saturating_mul(2)));
        Some(wait.unwrap_or_else(|| spread.stretch(gap)))
    }
}

/// The factor by which a gap is stretched, 0.8 to 1.2, so that deliveries that failed together are not
/// retried together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    thousandths: u32,
}

impl Spread {
    /// No stretching.
    pub const NONE: Self = Self { thousandths: 1000 };

    /// A random factor.
    pub fn random(entropy: &dyn Entropy) -> Self {
        let mut random = [0; 4];
        entropy.fill(&mut random);
        Self { thousandths: 800 + u32::from_le_bytes(random) % 401 }
    }

    fn stretch(self, gap: Duration) -> Duration {
        gap.saturating_mul(self.thousandths) / 1000
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Fixed([u8; 4]);

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.0);
        }
    }

    #[test]
    fn a_delivery_is_tried_ten_times_over_more_than_three_days() {
        let policy = RetryPolicy::default();
        let waits: Vec<_> = (0..).map_while(|step| policy.wait(step, None, Spread::NONE)).collect();
        let seconds: Vec<_> = waits.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(policy.disable_after.as_secs(), 5 * 86_400);
    }

    #[test]
    fn what_the_receiver_asks_for_is_honoured_between_the_gap_and_twice_the_gap() {
        let policy = RetryPolicy::default();
        for (asked, waited) in [(0, 300), (299, 300), (301, 301), (600, 600), (601, 600), (u64::MAX, 600)] {
            let wait = policy.wait(1, Some(Duration::from_secs(asked)), Spread::NONE);
            assert_eq!(wait, Some(Duration::from_secs(waited)), "{asked}");
        }
        assert_eq!(policy.wait(9, Some(Duration::from_secs(1)), Spread::NONE), None);
    }

    proptest! {
        #[test]
        fn every_gap_is_stretched_by_a_fifth_at_most(random: [u8; 4], step in 0_u32..9) {
            let policy = RetryPolicy::default();
            let gap = policy.gaps[step as usize];
            let wait = policy.wait(step, None, Spread::random(&Fixed(random))).expect("a gap");
            prop_assert!(wait >= gap * 4 / 5 && wait <= gap * 6 / 5, "{gap:?} {wait:?}");
        }
    }
}
