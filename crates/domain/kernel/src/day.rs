//! Calendar days.

use std::fmt;

use crate::Timestamp;

const MILLIS: i64 = 24 * 60 * 60 * 1000;

/// A day in UTC. Its text is its ISO 8601 date, `2026-01-31`, and the texts of the years 0 to 9999 are in the order of
/// their days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

impl Day {
    /// The last day that an instant of the interface can lie on: 9999-12-31.
    pub const LAST: Self = Self(2_932_896);

    /// The day on which an instant lies.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.millis().div_euclid(MILLIS))
    }

    /// Reads an ISO 8601 date.
    pub fn parse(text: &str) -> Option<Self> {
        Timestamp::parse_date(text).map(Self::of)
    }

    /// The first instant of the day.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_mul(MILLIS))
    }

    /// The day after.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = self.start().to_string();
        f.write_str(instant.split_once('T').map_or(&instant, |(date, _)| date))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_a_text_and_two_ends() {
        for (instant, text) in [
            ("2026-01-31T00:00:00Z", "2026-01-31"),
            ("2026-01-31T23:59:59.999Z", "2026-01-31"),
            ("2024-02-29T12:00:00Z", "2024-02-29"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31"),
            ("0000-01-01T00:00:00Z", "0000-01-01"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31"),
        ] {
            let at = Timestamp::parse(instant).expect("an instant");
            let day = Day::of(at);
            assert_eq!(day.to_string(), text);
            assert_eq!(Day::parse(text), Some(day));
            assert!(day.start() <= at && at < day.next().start(), "{instant}");
        }
        assert_eq!(Day::LAST.to_string(), "9999-12-31");
        assert_eq!(Day::parse("2026-02-30"), None);
        assert_eq!(Day::parse("payments"), None);
    }
}
