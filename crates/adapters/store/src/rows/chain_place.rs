//! The place of a row in its chain.

use quipu_kernel::Timestamp;
use quipu_ledger::Book;

/// The place of a row among those of its chain. Entries of one transaction have the same place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    /// The time of a line of the audit log; 0 for entries.
    pub(crate) at: i64,
    /// The identifier of the line, or of the entry's transaction.
    pub(crate) id: String,
}

impl Place {
    /// The place before every row that is made from `until` on.
    pub(crate) fn of_time(book: Book, until: Timestamp) -> Self {
        match book {
            Book::Entries => Self { at: 0, id: first_id_of(until) },
            Book::AuditLog => Self { at: until.millis(), id: String::new() },
        }
    }
}

/// The beginning of a time-ordered identifier (UUID version 7) that was made in this millisecond.
pub(crate) fn first_id_of(at: Timestamp) -> String {
    let millis = u64::try_from(at.millis()).unwrap_or(0);
    format!("{:08x}-{:04x}-", millis >> 16, millis & 0xffff)
}

#[cfg(test)]
mod tests {
    use uuid::{NoContext, Uuid};

    use super::*;

    #[test]
    fn identifiers_of_a_time_begin_at_its_first_and_end_before_the_next() {
        for millis in [0, 65_535, 65_536, 1_795_000_000_123_i64] {
            let (at, next) = (Timestamp::from_millis(millis), Timestamp::from_millis(millis + 1));
            let (seconds, rest) = (millis.unsigned_abs() / 1000, millis.unsigned_abs() % 1000);
            let nanos = u32::try_from(rest).expect("below a thousand") * 1_000_000;
            let id = Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, seconds, nanos)).to_string();
            assert!(first_id_of(at) <= id && id < first_id_of(next), "{id}");
        }
    }
}
