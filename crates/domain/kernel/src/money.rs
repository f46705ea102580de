//! Money as integers in minor units (cents, centavos), never as floating point.

use serde::{Deserialize, Serialize};

use crate::json::MAX_JSON_INTEGER;

/// The largest magnitude of any amount, 2^53 − 1.
pub const MAX_MINOR: i64 = MAX_JSON_INTEGER;

/// A sum or amount left the range of −(2^53 − 1) to 2^53 − 1 minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the amount is beyond 2^53 - 1 minor units")]
pub struct OutOfRange;

/// A signed quantity of minor units, its magnitude at most [`MAX_MINOR`]. All arithmetic is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Minor(i64);

impl Minor {
    /// The quantity of nothing.
    pub const ZERO: Self = Self(0);

    /// Admits `units` if its magnitude is at most [`MAX_MINOR`].
    pub const fn new(units: i64) -> Result<Self, OutOfRange> {
        if units > MAX_MINOR || units < -MAX_MINOR { Err(OutOfRange) } else { Ok(Self(units)) }
    }

    /// The number of minor units.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// `self + other`, or [`OutOfRange`].
    pub const fn checked_add(self, other: Self) -> Result<Self, OutOfRange> {
        // Two magnitudes below 2^53 cannot overflow an i64.
        Self::new(self.0 + other.0)
    }

    /// `self - other`, or [`OutOfRange`].
    pub const fn checked_sub(self, other: Self) -> Result<Self, OutOfRange> {
        Self::new(self.0 - other.0)
    }

    /// The same magnitude with the other sign; the range is symmetric, so this cannot fail.
    pub const fn negated(self) -> Self {
        Self(-self.0)
    }

    /// Whether it is below zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl TryFrom<i64> for Minor {
    type Error = OutOfRange;

    fn try_from(units: i64) -> Result<Self, OutOfRange> {
        Self::new(units)
    }
}

impl From<Minor> for i64 {
    fn from(minor: Minor) -> i64 {
        minor.0
    }
}

impl std::fmt::Display for Minor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The amount of a payment: 1 to [`MAX_MINOR`] minor units (docs/API.md, "Create").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Amount(Minor);

impl Amount {
    /// Admits 1 to [`MAX_MINOR`].
    pub const fn new(units: i64) -> Result<Self, OutOfRange> {
        match Minor::new(units) {
            Ok(minor) if units >= 1 => Ok(Self(minor)),
            _ => Err(OutOfRange),
        }
    }

    /// The amount as a signed quantity, for arithmetic.
    pub const fn minor(self) -> Minor {
        self.0
    }

    /// The number of minor units.
    pub const fn get(self) -> i64 {
        self.0.get()
    }
}

impl TryFrom<i64> for Amount {
    type Error = OutOfRange;

    fn try_from(units: i64) -> Result<Self, OutOfRange> {
        Self::new(units)
    }
}

impl From<Amount> for i64 {
    fn from(amount: Amount) -> i64 {
        amount.get()
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_ends_where_json_numbers_stop_being_exact() {
        assert!(Minor::new(MAX_MINOR).is_ok());
        assert_eq!(Minor::new(MAX_MINOR + 1), Err(OutOfRange));
        assert_eq!(Minor::new(i64::MIN), Err(OutOfRange));
        assert_eq!(Minor(MAX_MINOR).checked_add(Minor(1)), Err(OutOfRange));
        assert_eq!(Minor(-MAX_MINOR).checked_sub(Minor(1)), Err(OutOfRange));
    }

    #[test]
    fn an_amount_is_at_least_one() {
        assert_eq!(Amount::new(0), Err(OutOfRange));
        assert_eq!(Amount::new(-1), Err(OutOfRange));
        assert_eq!(Amount::new(1).map(Amount::get), Ok(1));
    }
}
