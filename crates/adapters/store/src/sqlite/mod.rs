//! The file of an embedded database: which file it is, its write-ahead log, whose the log is, and copying the log into the database.

pub(crate) mod checkpoint;
pub(crate) mod file;
mod file_identity;
pub(crate) mod log_owner;
mod write_ahead_log;
