//! Standard output, where commands write their results and nothing else.

use std::io::{self, ErrorKind, Write as _};

use anyhow::{Context, Result};

/// Writes a whole text. A reader that stops reading early (`quipu merchant list | head -1`) is no error.
pub(crate) fn write(text: &str) -> Result<()> {
    match written(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context(UNWRITTEN),
    }
}

/// Writes a text that cannot be printed again, so that a missing reader is an error too.
pub(crate) fn write_once(text: &str) -> Result<()> {
    written(text).context(UNWRITTEN)
}

const UNWRITTEN: &str = "standard output cannot be written";

fn written(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
