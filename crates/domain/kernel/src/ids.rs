//! Identifiers, all made by the application.

use std::{
    fmt,
    str::FromStr,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use serde::{Deserialize, Serialize};

use crate::{
    entropy::{Entropy, base32, base32_digit},
    json::MAX_JSON_INTEGER,
    locked::locked,
    timestamp::Timestamp,
    unrecognised::Unrecognised,
};

macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

numeric_id! {
    /// A merchant, 1 to 2^53 − 1.
    MerchantId
}
numeric_id! {
    /// A merchant's customer, 1 to 2^53 − 1.
    CustomerId
}

impl CustomerId {
    /// The customer with this number, if it is one that a customer may have.
    pub fn admitted(number: i64) -> Option<Self> {
        (1..=MAX_JSON_INTEGER).contains(&number).then_some(Self(number))
    }
}

/// The last instant, in Unix milliseconds, that has 13 digits.
const LAST_MILLIS: i64 = 9_999_999_999_999;

/// What all identifiers of this form and instant begin with. Instants that 13 digits cannot express (before 1970,
/// after 2286) count as the nearest one that they can, so that texts compare as instants do.
fn lower_bound(prefix: &str, at: Timestamp) -> String {
    format!("{prefix}_{:013}_", at.millis().clamp(0, LAST_MILLIS))
}

/// What every identifier of this form and instant, or of an earlier one, is less than.
fn upper_bound(prefix: &str, at: Timestamp) -> String {
    lower_bound(prefix, Timestamp::from_millis(at.millis().saturating_add(1)))
}

/// A new identifier of a thing made at `at`: `<prefix>_<13 digits of Unix milliseconds>_<length base-32 characters>`,
/// in the order of time.
pub fn timed_id(prefix: &str, at: Timestamp, entropy: &dyn Entropy, length: usize) -> String {
    lower_bound(prefix, at) + &base32(entropy, length)
}

/// A payment: `pay_<13 digits of Unix milliseconds>_<12 base-32 characters>`. In the order of time, and too
/// random to be guessed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PaymentId(String);

impl PaymentId {
    /// The identifier of a payment made at `at`, its suffix the lower 60 bits of a number.
    fn new(at: Timestamp, suffix: u64) -> Self {
        let fives = (0..12).rev().map(|five| (suffix >> (5 * five)).to_le_bytes()[0]);
        Self(Self::lower_bound(at) + &fives.map(base32_digit).collect::<String>())
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The time at which it was given out, as the identifier tells it.
    pub fn made_at(&self) -> Timestamp {
        let digits = self.0.get(4..17).and_then(|digits| digits.parse().ok());
        Timestamp::from_millis(digits.unwrap_or_default())
    }

    /// The smallest possible identifier of a payment made at `at`: the start of a range over time.
    pub fn lower_bound(at: Timestamp) -> String {
        lower_bound("pay", at)
    }

    /// What every identifier of a payment made at `at` or before is less than: the end of a range over time.
    pub fn upper_bound(at: Timestamp) -> String {
        upper_bound("pay", at)
    }
}

impl FromStr for PaymentId {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let well_formed = || {
            let (digits, suffix) = text.strip_prefix("pay_")?.split_once('_')?;
            let ok = digits.len() == 13
                && digits.bytes().all(|b| b.is_ascii_digit())
                && suffix.len() == 12
                && suffix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            ok.then_some(())
        };
        well_formed().ok_or(Unrecognised { expected: "a payment identifier" })?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hands out payment identifiers. Identifiers of one millisecond increase, so that lists show the later payment
/// first, unless the clock moved in between. Each step is random, up to 2^40, so nobody can guess the next.
#[derive(Debug, Default)]
pub struct PaymentIdSource {
    /// The latest millisecond, and the latest suffix in it.
    last: Mutex<(i64, u64)>,
}

impl PaymentIdSource {
    /// The identifier of a payment made at `at`.
    pub fn next(&self, at: Timestamp, entropy: &dyn Entropy) -> PaymentId {
        let mut random = [0; 8];
        entropy.fill(&mut random);
        let random = u64::from_le_bytes(random);
        let mut last = locked(&self.last);
        // A millisecond begins in the lower half of its 2^60 suffixes, which leaves room for half a million more.
        let suffix = if last.0 == at.millis() { last.1 + 1 + (random >> 24) } else { random >> 5 };
        *last = (at.millis(), suffix);
        PaymentId::new(at, suffix)
    }
}

/// The greatest step that an event's identifier can express: two base-32 characters.
const LAST_STEP: i32 = 1_023;

/// An event: `evt_<13 digits of Unix milliseconds>_<16 base-32 characters>`. It is the `webhook-id` of every delivery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EventId(String);

impl EventId {
    /// A new identifier for an event of `at`.
    pub fn new(at: Timestamp, entropy: &dyn Entropy) -> Self {
        Self(timed_id("evt", at, entropy, 16))
    }

    /// A new identifier for the event of step number `step`. A later step of the same millisecond sorts
    /// behind it.
    pub fn of_step(at: Timestamp, step: i32, entropy: &dyn Entropy) -> Self {
        let step = step.clamp(0, LAST_STEP);
        let [low, high] = [step, step >> 5].map(|five| base32_digit(five.to_le_bytes()[0]));
        Self(format!("{}{high}{low}{}", Self::lower_bound(at), base32(entropy, 14)))
    }

    /// An identifier that was read from a store.
    pub fn restore(text: String) -> Self {
        Self(text)
    }

    /// The smallest possible identifier of an event of `at`: the start of a range over time.
    pub fn lower_bound(at: Timestamp) -> String {
        lower_bound("evt", at)
    }

    /// What every identifier of an event of `at` or before is less than: the end of a range over time.
    pub fn upper_bound(at: Timestamp) -> String {
        upper_bound("evt", at)
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hands out numeric identifiers below 2^53 that grow with time and never repeat within a process.
///
/// The upper 40 bits are milliseconds since 2025 (enough until 2059), the lower 13 start at random in each
/// millisecond and count on from there. Two nodes could meet only in the same millisecond of the same merchant;
/// the unique key of the row then refuses the second, who takes the next number.
#[derive(Debug, Default)]
pub struct IdSource {
    last: AtomicI64,
}

/// 2025-01-01T00:00:00Z in Unix milliseconds.
const EPOCH: i64 = 1_735_689_600_000;
const LOW_BITS: u32 = 13;

impl IdSource {
    /// The next identifier at `now`.
    pub fn next(&self, now: Timestamp, entropy: &dyn Entropy) -> i64 {
        let mut random = [0; 2];
        entropy.fill(&mut random);
        // The top bit stays free, so that a count that starts late in its millisecond seldom runs into the next.
        let low = i64::from(u16::from_le_bytes(random)) & ((1 << (LOW_BITS - 1)) - 1);
        let fresh = ((now.millis() - EPOCH).max(0) << LOW_BITS) | low;
        let next = |last: i64| Some(if last >= fresh { last + 1 } else { fresh });
        match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(last) => next(last).unwrap_or(fresh),
            Err(_) => fresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn an_event_sorts_behind_those_of_earlier_steps_of_its_millisecond() {
        let id = |step, byte| EventId::of_step(Timestamp::from_millis(1_763_683_200_000), step, &Fixed(byte));
        assert_eq!(id(1, 255).as_str(), "evt_1763683200000_23zzzzzzzzzzzzzz");
        for step in 0..LAST_STEP {
            assert!(id(step, 255) < id(step + 1, 0), "{step}");
        }
        assert_eq!(id(i32::MAX, 7), id(LAST_STEP, 7));
        assert!(id(i32::MAX, 255) < EventId::new(Timestamp::from_millis(1_763_683_200_001), &Fixed(0)));
    }

    #[test]
    fn payment_ids_have_the_specified_form_and_sort_by_time() {
        let id = |millis, byte| PaymentIdSource::default().next(Timestamp::from_millis(millis), &Fixed(byte));
        let (early, late) = (id(1_763_683_200_000, 255), id(1_763_683_200_001, 0));
        assert_eq!(early.as_str(), "pay_1763683200000_jzzzzzzzzzzz");
        assert_eq!(late.as_str(), "pay_1763683200001_222222222222");
        assert!(early < late);
        assert_eq!(early.as_str().parse(), Ok(early.clone()));
        assert_eq!(id(1_763_683_200_000, 7).made_at().millis(), 1_763_683_200_000);
        let bound = |millis| PaymentId::lower_bound(Timestamp::from_millis(millis));
        assert!(bound(1_763_683_200_001).as_str() > early.as_str());
        assert_eq!(
            PaymentId::upper_bound(Timestamp::from_millis(1_763_683_200_000)),
            bound(1_763_683_200_001)
        );
        for far in [10_000_000_000_000, 253_402_300_799_999, i64::MAX] {
            assert!(bound(far).as_str() > late.as_str(), "{far}");
        }
        for long_ago in [0, -1, i64::MIN] {
            assert!(bound(long_ago).as_str() < early.as_str(), "{long_ago}");
        }
    }

    #[test]
    fn payment_ids_of_one_millisecond_grow() {
        let source = PaymentIdSource::default();
        let next = |millis, byte| source.next(Timestamp::from_millis(millis), &Fixed(byte));
        let ids: Vec<_> = [255, 0, 0, 255, 7].map(|byte| next(1_763_683_200_000, byte)).into();
        assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
        // Even if no random step were shorter than the longest.
        for _ in 0..100_000 {
            let id = next(1_763_683_200_000, 255);
            assert!(id > ids[4] && id.as_str().len() == ids[4].as_str().len(), "{id}");
        }
        assert!(next(1_763_683_200_001, 0) > ids[4]);
    }

    #[test]
    fn other_texts_are_no_payment_id() {
        for text in
            ["", "pay_", "pay_1_a", "pay_1763683200000_99999999999", "pay_1763683200000_99999999999%", "x"]
        {
            assert!(text.parse::<PaymentId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn numeric_ids_never_repeat_even_if_the_clock_stands_still_or_runs_back() {
        let source = IdSource::default();
        let at = |millis| source.next(Timestamp::from_millis(millis), &Fixed(255));
        let ids = [at(EPOCH + 5), at(EPOCH + 5), at(EPOCH + 4), at(EPOCH + 6)];
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert!(at(2_800_000_000_000) < 1 << 53);
    }

    #[test]
    fn numeric_ids_tell_their_millisecond_and_begin_in_the_lower_half_of_its_numbers() {
        let next =
            |millis, byte| IdSource::default().next(Timestamp::from_millis(EPOCH + millis), &Fixed(byte));
        for (millis, least) in [(1, 8_192), (5, 40_960), (1_000, 8_192_000)] {
            assert_eq!([next(millis, 0), next(millis, 255)], [least, least + 4_095], "{millis}");
        }
    }
}
