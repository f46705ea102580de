//! In which form the log is written.

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// An object of JSON a line.
    Json,
    /// For people.
    Text,
}
