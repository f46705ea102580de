//! The file of an embedded database: which file it is, its write-ahead log, and copying the log into the database.

pub(crate) mod checkpoint;
pub(crate) mod file;
mod file_identity;
mod write_ahead_log;
