//! Problems of the file of an embedded database.

use std::{fmt, io};

/// A problem of the file. Its text is for the person who runs the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTrouble {
    Gone,
    Replaced,
    Truncated,
    ReadOnly,
    CompanionReadOnly,
    LogGone,
    LogReplaced,
    LogTruncated,
    IndexGone,
    LogOfAnother,
    Hidden(io::ErrorKind),
}

impl fmt::Display for FileTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            Self::Gone => {
                "the database file is gone; put it back; if it was deleted, copy it from /proc/PID/fd before you stop"
            }
            Self::Replaced => {
                "the database file was replaced by another one; put it back; if this is another database, stop, move its -wal \
                 and -shm away, and start; a copy from /proc/PID/fd keeps its -wal: stop, move the -shm away, and start"
            }
            Self::Truncated => "the database file was truncated; stop and restore a backup",
            Self::ReadOnly => "the database file is read-only; make it writable",
            Self::CompanionReadOnly => {
                "the database's write-ahead log or its index (its name with -wal or -shm) is read-only; make both writable"
            }
            Self::LogGone => {
                "the database's write-ahead log is gone; put it back; if it was deleted, copy it from /proc/PID/fd before you stop"
            }
            Self::LogReplaced => {
                "the database's write-ahead log was replaced; put it back; if it was deleted, copy it from /proc/PID/fd before \
                 you stop"
            }
            Self::LogTruncated => "the database's write-ahead log was truncated; stop and restore a backup",
            Self::IndexGone => "the index of the write-ahead log (-shm) is gone; restart",
            Self::LogOfAnother => {
                "the write-ahead log beside the database (its name with -wal) was left by another database, says the file with \
                 -run: if the database and the log came here together, remove that file; if another database belongs here, \
                 put it back; otherwise move the log away with the -shm, and keep it: it may hold the last payments of its own"
            }
            Self::Hidden(kind) => return write!(f, "the database file cannot be looked at: {kind}"),
        };
        f.write_str(said)
    }
}
