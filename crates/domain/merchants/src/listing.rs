//! What narrows the operator's lists.

use quipu_kernel::{MerchantId, Timestamp};

use crate::merchant::MerchantStatus;

/// A stretch of time with both its ends; an absent end is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    /// The first instant.
    pub from: Option<Timestamp>,
    /// The last instant.
    pub to: Option<Timestamp>,
}

impl Period {
    /// Whether `at` lies in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

/// Which merchants are listed; what is absent narrows nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MerchantFilter {
    /// This one only.
    pub id: Option<MerchantId>,
    /// Those of a status.
    pub status: Option<MerchantStatus>,
    /// Those made in a period.
    pub created: Period,
}

/// Which lines of the audit log are listed; what is absent narrows nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Those about a merchant.
    pub merchant: Option<MerchantId>,
    /// Those of a period.
    pub at: Period,
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
