//! Standard error, where a command writes messages that are no part of its result.

use std::{
    io::{Write as _, stderr},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long the end of a server waits for its last line to be written: its supervisor has to start another. On a
/// busy machine it may take a while until the thread that writes has its turn.
pub(crate) const END: Duration = Duration::from_secs(1);
/// How long a command waits for that: somebody may have stopped the terminal for a moment.
pub(crate) const READ_BY_PEOPLE: Duration = Duration::from_secs(10);

/// Writes a line. If that fails there is nowhere else to report it, and the result of the command does not
/// change.
pub(crate) fn write_line(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Writes the last line of a process. If nobody reads standard error it waits no longer than `patience`.
pub(crate) fn write_last_line(line: &str, patience: Duration) {
    let (done, written) = mpsc::channel();
    let copy = line.to_owned();
    let writing = thread::Builder::new().spawn(move || {
        write_line(&copy);
        let _ = done.send(());
    });
    match writing {
        Ok(_) => {
            let _ = written.recv_timeout(patience);
        }
        Err(_no_thread) => write_line(line),
    }
}
