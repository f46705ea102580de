//! Checks of the file of an embedded database before it is opened.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt as _, path::Path};

use anyhow::{Context as _, Result, bail};
use quipu_configuration::Settings;

use crate::data_folder::{ServingLock, require_files_of_server, with_ending};

/// The file of an embedded database, with its folder; of a server no address, since that may contain a password.
pub(crate) fn shown(settings: &Settings) -> String {
    let Some(path) = settings.embedded_database() else {
        return "the one that database_url names".to_owned();
    };
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Makes the file, unless it exists, readable by its owner only: it contains data about customers, and its
/// folder may be older than the gateway. SQLite's files beside it get the same mode. None is made in place of one that a
/// server still has open, or whose log is still there: SQLite would delete the log.
pub(crate) fn make_private(settings: &Settings) -> Result<()> {
    let Some(path) = settings.embedded_database() else { return Ok(()) };
    require_files_of_server(path)?;
    let has_bytes = |file: &Path| std::fs::metadata(file).is_ok_and(|found| found.len() > 0);
    // Looked at first: a database that another process makes meanwhile has bytes before its log has.
    let log = with_ending(&std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), "-wal");
    let (has_log, is_missing) = (has_bytes(&log), !has_bytes(path));
    if is_missing && has_log {
        bail!(
            "there is no database {}, and {} is left of the former one: put that database back, or move this file away",
            path.display(),
            log.display()
        );
    }
    let _lock = is_missing.then(|| ServingLock::of_database(path)).transpose()?;
    let mut options = OpenOptions::new();
    let opened = options.create(true).append(true).mode(0o600).open(path);
    opened.map(drop).with_context(|| format!("the database {} cannot be opened", path.display()))
}

/// Refuses what [`require`] refuses, and files of an embedded database that are not those that a running server has open.
/// For commands, which may run beside a server.
pub(crate) fn require_for_command(settings: &Settings) -> Result<()> {
    settings.embedded_database().map_or(Ok(()), require_files_of_server)?;
    require(settings)
}

/// Refuses if an embedded database does not exist, or its file is empty. Making a new one instead would hide
/// that the former one is gone.
pub(crate) fn require(settings: &Settings) -> Result<()> {
    let Some(path) = settings.embedded_database() else { return Ok(()) };
    let unopened = || format!("the database {} cannot be opened", path.display());
    match std::fs::metadata(path) {
        Ok(found) if found.len() == 0 => {
            bail!(
                "the database {} is an empty file: restore a backup, or run `quipu migrate` for a new one",
                path.display()
            )
        }
        Ok(_) if !quipu_store::is_made(path).with_context(unopened)? => bail!(
            "the database {} has no tables of Quipu's: move it away and restore a backup, or run `quipu migrate` to make \
             them in it",
            path.display()
        ),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no database {}: restore a backup, or run `quipu migrate` for a new one",
            path.display()
        ),
        Err(error) => Err(error).with_context(unopened),
    }
}

/// Makes the log of this process known as one of this database, see [`quipu_store::number_run`]. The lock of the serving
/// process is held.
pub(crate) fn number_run(settings: &Settings) {
    let Some(path) = settings.embedded_database() else { return };
    if let Err(error) = quipu_store::number_run(path) {
        tracing::warn!(%error, "the run of the database file could not be counted: should another database take its place, SQLite may apply \
             this one's write-ahead log to it");
    }
}
