//! Standard error, where a command writes messages that are no part of its result.

use std::{
    io::{Write as _, stderr},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long the end of a process waits for its last line to be written.
pub(crate) const END: Duration = Duration::from_millis(100);

/// Writes a line. If that fails there is nowhere else to report it, and the result of the command does not
/// change.
pub(crate) fn write_line(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes the last line of a process. If nobody reads standard error it is not waited for: the process has to end, so that
/// its supervisor starts another.
pub(crate) fn write_last_line(line: String) {
    let (done, written) = mpsc::channel();
    thread::spawn(move || {
        write_line(&line);
        let _ = done.send(());
    });
    let _ = written.recv_timeout(END);
}
