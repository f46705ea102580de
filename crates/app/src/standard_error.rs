//! Standard error, where a command tells people what does not belong to its result.

use std::io::{Write as _, stderr};

/// Writes a line. Where it cannot be written there is nobody else to tell, and what the command did counts all the same.
pub(crate) fn tell(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}
