//! Time as a value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::{
    Duration, OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339, macros::format_description,
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

    /// Reads an ISO 8601 instant as RFC 3339 profiles it (`2026-01-31T12:00:00Z`, an offset, or a plain date, which
    /// means its first instant in UTC). `None` for anything else, and for years outside 1970 to 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let instant = OffsetDateTime::parse(text, &Rfc3339).ok().or_else(|| {
            let date = time::Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
            Some(date.midnight().assume_utc())
        })?;
        let millis = i64::try_from(instant.unix_timestamp_nanos().div_euclid(1_000_000)).ok()?;
        (millis >= 0).then_some(Self(millis))
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

/// The time of day as a port, so that tests move time instead of waiting for it.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(elapsed.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
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
        assert_eq!(Timestamp::parse("2026-01-31T02:00:00+02:00"), Timestamp::parse("2026-01-31"));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in
            ["", "yesterday", "2026-13-01", "2026-02-30", "1969-12-31", "12:00", "2026-01-31T25:00:00Z"]
        {
            assert_eq!(Timestamp::parse(text), None, "{text:?}");
        }
    }
}
