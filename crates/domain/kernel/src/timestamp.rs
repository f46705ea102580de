//! Instants, and how they are read and written.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::{
    Date, Duration, OffsetDateTime, UtcOffset, format_description::well_known::Iso8601,
    macros::format_description,
};

/// An instant in UTC, to the millisecond: what the interface shows and what both databases store (as Unix
/// milliseconds), so that a value never changes on its way through either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Reads an ISO 8601 date or instant of the years 0 to 9999: `2026-01-31T12:00:00Z`, with an offset or
    /// without (which means UTC), to the minute or finer, in the extended or the basic form. A plain date
    /// means its first instant.
    pub fn parse(text: &str) -> Option<Self> {
        ParsedInstant::read(text).map_or_else(|| Self::parse_date(text), |parsed| Self::of(parsed.instant))
    }

    /// The same, but a fraction of a millisecond is rounded up: the first instant of a period that begins
    /// then.
    pub fn parse_beginning(text: &str) -> Option<Self> {
        let Some(parsed) = ParsedInstant::read(text) else { return Self::parse_date(text) };
        let last = Self::of(parsed.instant)?;
        // Nothing can begin after the last representable millisecond, so the search finds nothing.
        Some(parsed.rounded_up().and_then(Self::of).unwrap_or(Self(last.0 + 1)))
    }

    /// The same as [`Self::parse`] for the end of a period, which is included: a plain date means its last instant.
    pub fn parse_end(text: &str) -> Option<Self> {
        let rest_of_day = std::time::Duration::from_millis(24 * 60 * 60 * 1000 - 1);
        Self::parse_date(text).map(|date| date.plus(rest_of_day)).or_else(|| Self::parse(text))
    }

    /// Reads a plain date, which means its first instant in UTC.
    pub fn parse_date(text: &str) -> Option<Self> {
        let text = text.to_ascii_uppercase();
        // The parser of dates skips over a time of day.
        let date = if text.contains('T') { None } else { Date::parse(&text, &Iso8601::PARSING).ok() };
        Self::of(date?.midnight().assume_utc())
    }

    fn of(instant: OffsetDateTime) -> Option<Self> {
        // No place on earth is a day away from UTC, but the parser's range ends beyond.
        if instant.offset().whole_hours().abs() > 23 {
            return None;
        }
        let instant = instant.checked_to_offset(UtcOffset::UTC)?;
        let millis = i64::try_from(instant.unix_timestamp_nanos().div_euclid(1_000_000)).ok()?;
        (0..=9999).contains(&instant.year()).then_some(Self(millis))
    }

    /// This instant moved forward by `duration`; it stays at the end of time rather than wrap.
    pub fn plus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This instant moved back by `duration`; it stays at the beginning of time rather than wrap.
    pub fn minus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this instant, zero if it lies ahead.
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    fn to_text(self) -> Option<String> {
        let instant =
            OffsetDateTime::UNIX_EPOCH.checked_add(Duration::milliseconds(self.0))?.to_offset(UtcOffset::UTC);
        let form = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        instant.format(&form).ok()
    }
}

/// An instant as it was read, to the nanosecond.
struct ParsedInstant {
    instant: OffsetDateTime,
    /// Whether a part of a nanosecond was cut off.
    is_later: bool,
}

impl ParsedInstant {
    fn read(text: &str) -> Option<Self> {
        let text = text.to_ascii_uppercase();
        let (date, time) = text.split_once('T')?;
        let end = time.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(time.len());
        let (clock, rest) = time.split_at(end);
        let (fraction, offset) = match rest.strip_prefix(['.', ',']) {
            Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
            None => ("0", rest),
        };
        if offset.starts_with(['.', ',']) {
            return None;
        }
        // The library reads fractions as floating-point numbers, which are off by a millisecond now and then.
        let (fraction, is_later) = nanoseconds(fraction, clock)?;
        // The library wants minutes.
        let minutes = match clock.len() {
            2 if date.contains('-') => ":00",
            2 => "00",
            _ => "",
        };
        let whole = format!("{date}T{clock}{minutes}{}", if offset.is_empty() { "Z" } else { offset });
        let whole = OffsetDateTime::parse(&whole, &Iso8601::PARSING).ok()?;
        Some(Self { instant: whole.checked_add(fraction)?, is_later })
    }

    /// Rounded up to a whole millisecond.
    fn rounded_up(&self) -> Option<OffsetDateTime> {
        self.instant.checked_add(Duration::nanoseconds(if self.is_later { 1_000_000 } else { 999_999 }))
    }
}

/// The value of the digits of a fraction that follow a time of day (`12`, `12:00`, `12:00:00`, or the same
/// without colons), and whether a part of a nanosecond was cut off.
fn nanoseconds(fraction: &str, clock: &str) -> Option<(Duration, bool)> {
    const ENOUGH: usize = 20;
    let of = match (clock.len(), clock.matches(':').count()) {
        (8, 2) | (6, 0) => 1_000_000_000_u128,
        (5, 1) | (4, 0) => 60_000_000_000,
        (2, 0) => 3_600_000_000_000,
        _ => return None,
    };
    let (digits, rest) = fraction.split_at(fraction.len().min(ENOUGH));
    let parts = digits.parse::<u128>().ok()?.checked_mul(of)?;
    let whole = 10_u128.pow(u32::try_from(digits.len()).ok()?);
    let is_left = parts % whole > 0 || rest.bytes().any(|digit| digit != b'0');
    Some((Duration::nanoseconds(i64::try_from(parts / whole).ok()?), is_left))
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_text().as_deref().unwrap_or("9999-12-31T23:59:59.999Z"))
    }
}

impl std::fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("must be an ISO 8601 instant"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_as_it_is_read() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-11-21T12:34:56.789Z"] {
            assert_eq!(Timestamp::parse(text).map(|at| at.to_string()).as_deref(), Some(text));
        }
        let midnight = Timestamp::parse_date("2026-01-31");
        assert_eq!(midnight.map(|at| at.to_string()).as_deref(), Some("2026-01-31T00:00:00.000Z"));
        for text in [
            "2026-01-31",
            "20260131",
            "2026-031",
            "2026-W05-6",
            "2026-01-31T00:00:00",
            "2026-01-31T00:00",
            "2026-01-31T00",
            "2026-01-31T02+02:00",
            "2026-01-31T00:00:00.000999",
            "2026-01-31T00:00:00.0009999999999999999999",
            "2026-01-31T02:00:00+02:00",
            "2026-01-31T02:00+02",
            "20260131T020000+0200",
            "20260131T02+02",
            "2026-01-31t00:00:00,0z",
            "2026-01-31T23:59:00+23:59",
            "2026-01-30T00:01:00-23:59",
        ] {
            assert_eq!(Timestamp::parse(text), midnight, "{text}");
        }
    }

    #[test]
    fn only_a_date_is_a_date() {
        for text in ["2026-01-31T00:00:00Z", "2026-01-31T00", "2026-01-31Z", "2026-01", "12:00", ""] {
            assert_eq!(Timestamp::parse_date(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_period_begins_with_the_first_whole_millisecond_that_is_in_it() {
        for (text, millis) in [
            ("2026-01-31T00:00:00.630Z", 630),
            ("2026-01-31T00:00:00.630000Z", 630),
            ("2026-01-31T00:00:00.630001Z", 631),
            ("2026-01-31T00:00:00.630000001Z", 631),
            ("2026-01-31T00:00:00.999999Z", 1_000),
            ("2026-01-31T00:00:00.6300000000Z", 630),
            ("2026-01-31T00:00:00.6300000001Z", 631),
            ("2026-01-31T00:00:00.62999999999999999999999999999999999999999999Z", 630),
            ("2026-01-31T00:00:00.63000000000000000000000000000000000000000001Z", 631),
            ("2026-01-31T00:00:00.63000000000000000000000000000000000000000000Z", 630),
            ("2026-01-31T00:00:00.63000000000000000000111111111111111111111111Z", 631),
            ("2026-01-31T00:00:00.9999999999Z", 1_000),
            ("2026-01-31T00:00.33Z", 19_800),
            ("2026-01-31T00.5Z", 1_800_000),
            ("2026-01-31T0000,000005+0000", 1),
            ("2026-01-31", 0),
        ] {
            let midnight = Timestamp::parse_date("2026-01-31").expect("a date").millis();
            let begins = Timestamp::parse_beginning(text).expect("an instant").millis();
            assert_eq!(begins - midnight, millis, "{text}");
        }
        assert_eq!(Timestamp::parse_beginning("soon"), None);
        let last = "9999-12-31T23:59:59.9999Z";
        let beyond = Timestamp::parse(last).map(|last| last.millis() + 1);
        assert_eq!(Timestamp::parse_beginning(last).map(Timestamp::millis), beyond);
        assert_eq!(Timestamp::parse_beginning("10000-01-01T00:00:00Z"), None);
    }

    #[test]
    fn a_period_ends_with_the_last_millisecond_of_a_date() {
        let end = |text| Timestamp::parse_end(text).map(|at| at.to_string());
        assert_eq!(end("2026-01-31").as_deref(), Some("2026-01-31T23:59:59.999Z"));
        assert_eq!(end("2026-01-31T00:00Z").as_deref(), Some("2026-01-31T00:00:00.000Z"));
        assert_eq!(end("soon"), None);
    }

    #[test]
    fn every_year_of_four_digits_is_an_instant() {
        for text in ["0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"] {
            assert_eq!(Timestamp::parse(text).map(|at| at.to_string()).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "12:00",
            "2026-01-31T25:00:00Z",
            "2026-01-31 12:00:00Z",
            "2026-01-31T12:00:00+25:00",
            "2026-01-31T12:00:00ZZ",
            "2026-01-31T12:00:00.Z",
            "2026-01-31T12:00:00.+Z",
            "2026-01-31T12:00:00.0.0Z",
            "2026-01-31T123Z",
            "2026-01-31T1200:00Z",
            "2026-01-31T120:000Z",
            "-2026-01-31",
            "10000-01-01",
            "9999-12-31T23:59:59-14:00",
            "0000-01-01T00:00:00+14:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
    }
}
