//! Counters of payments, in all and by day of creation, each by status, type, method and currency.

use std::borrow::Cow;

use quipu_commit::Tally;
use quipu_kernel::Day;

use crate::payment::{Payment, status::Status};

/// The name of the counters of all payments.
pub const COUNTER: &str = "payments";

/// The name of the counters of the payments that were made on one day: `payments/2026-01-31`. These names
/// sort by day, after [`COUNTER`].
pub fn counter_of_day(day: Day) -> String {
    format!("{COUNTER}/{day}")
}

/// The day whose counters have this name.
pub fn day_of_counter(name: &str) -> Option<Day> {
    Day::parse(name.strip_prefix(COUNTER)?.strip_prefix('/')?)
}

/// Adds `by` to the counters of a payment in this status.
pub(crate) fn tallies(payment: &Payment, status: Status, by: i64) -> [Tally; 2] {
    let terms = payment.terms();
    let keys = [
        Cow::Borrowed(status.as_str()),
        Cow::Borrowed(terms.kind.as_str()),
        Cow::Borrowed(terms.method.as_str()),
        Cow::Owned(terms.currency.as_str().to_owned()),
    ];
    let of_day = Cow::Owned(counter_of_day(Day::of(terms.created_at)));
    [Cow::Borrowed(COUNTER), of_day].map(|name| Tally { name, keys: keys.clone(), by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_a_day_is_told_by_its_name() {
        let day = Day::parse("2026-01-31").expect("a day");
        assert_eq!(counter_of_day(day), "payments/2026-01-31");
        assert_eq!(day_of_counter("payments/2026-01-31"), Some(day));
        for other in [COUNTER, "payments/", "tickets/2026-01-31", "payments2026-01-31"] {
            assert_eq!(day_of_counter(other), None, "{other}");
        }
        assert!(counter_of_day(day).as_str() > COUNTER && counter_of_day(day) < counter_of_day(day.next()));
    }
}
