//! Table-driven tests that report every row that deviates, not only the first.

use std::fmt::Display;

use crate::Answer;

/// Collects the deviations, row by row.
#[derive(Debug, Default)]
pub struct Table {
    rows: usize,
    wrong: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// A row that must be accepted.
    pub fn accepted(&mut self, row: impl Display, answer: &Answer) {
        let verdict = if answer.status == 200 { Ok(()) } else { Err(answer.to_string()) };
        self.note(row, verdict);
    }

    /// A row that must be a validation error about `field`.
    pub fn invalid(&mut self, row: impl Display, answer: &Answer, field: &str) {
        self.note(row, answer.is_invalid(field));
    }

    /// A row that must be refused with this status and `error_code`.
    pub fn refused(&mut self, row: impl Display, answer: &Answer, status: u16, code: &str) {
        self.note(row, answer.is_refused(status, code));
    }

    /// A row with the caller's own verdict.
    pub fn note(&mut self, row: impl Display, verdict: Result<(), String>) {
        self.rows += 1;
        if let Err(reason) = verdict {
            let reason: String = reason.chars().take(600).collect();
            let row: String = row.to_string().chars().take(300).collect();
            self.wrong.push(format!("{row}\n    {reason}"));
        }
    }

    /// Fails the test if any row deviated.
    #[track_caller]
    pub fn finish(self) {
        let (wrong, rows) = (self.wrong.len(), self.rows);
        assert!(wrong == 0, "{wrong} of {rows} rows deviate:\n{}", self.wrong.join("\n"));
        assert!(rows > 0, "a table without rows proves nothing");
    }
}
