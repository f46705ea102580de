//! The list of everything that is wrong with a request, field by field.

use std::fmt::Display;

/// The most problems that are reported. Nobody makes more by mistake, and an answer must not outgrow its
/// request.
const MOST: usize = 100;

/// The problems found so far, in the order in which they were found, the first hundred at most. Each text
/// begins with its field's path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    /// A list without problems.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// One problem of one field: `Problems::of("amount", "must be an integer")`.
    pub fn of(field: &str, what: impl Display) -> Self {
        let mut problems = Self::new();
        problems.add(field, what);
        problems
    }

    /// Notes that `field` (a dotted path such as `payout.bsb`) is wrong, and how. The same text is noted
    /// once.
    pub fn add(&mut self, field: &str, what: impl Display) {
        let problem = format!("{field} {what}");
        if self.0.len() < MOST && !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Adds the problems of another list.
    pub fn append(&mut self, others: Self) {
        self.0.extend(others.0);
        self.0.truncate(MOST);
    }

    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Nothing if there are no problems, and otherwise the problems.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    /// What was `read`, if there are no problems. It must be there then.
    pub fn admit<T>(self, read: Option<T>) -> Result<T, Self> {
        read.filter(|_| self.is_empty()).ok_or(self)
    }

    /// The texts, for the answer's `message` array.
    pub fn into_messages(self) -> Vec<String> {
        self.0
    }

    /// The texts of the problems.
    pub fn messages(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_hundred_problems_are_told() {
        let mut problems = Problems::of("amount", "is required");
        for number in 0..5_000 {
            problems.add(&number.to_string(), "is not a known member");
        }
        assert_eq!(problems.messages().len(), MOST);
        problems.append(Problems::of("currency", "is required"));
        assert_eq!(problems.messages().len(), MOST);
        assert_eq!(problems.messages()[0], "amount is required");
    }
}
