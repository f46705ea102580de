//! Standard error, where a command writes messages that are no part of its result.

use std::io::{Write as _, stderr};

/// Writes a line. If that fails there is nowhere else to report it, and the result of the command does not
/// change.
pub(crate) fn write_line(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}
