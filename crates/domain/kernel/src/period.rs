//! Periods of time.

use crate::timestamp::Timestamp;

/// A period of time, both ends included; an absent end is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Period {
    /// The first instant that counts.
    pub from: Option<Timestamp>,
    /// The last instant that counts.
    pub to: Option<Timestamp>,
}

impl Period {
    /// Whether `at` lies in the period.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_includes_its_ends_and_may_be_open() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        let within = |from, to| {
            let period = Period { from, to };
            [1, 2, 3, 4].map(|millis| period.contains(Timestamp::from_millis(millis)))
        };
        assert_eq!(within(at(2), at(3)), [false, true, true, false]);
        assert_eq!(within(at(3), None), [false, false, true, true]);
        assert_eq!(within(None, at(1)), [true, false, false, false]);
        assert_eq!(within(None, None), [true; 4]);
    }
}
