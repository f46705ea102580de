//! Standard output, which carries what commands print and nothing else.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

/// Writes a text to its end. A reader that has seen enough (`quipu merchant list | head -1`) is no error.
pub(crate) fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("standard output cannot be written"),
    }
}
