//! Checks of the file of an embedded database before it is opened.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt as _};

use anyhow::{Context as _, Result, bail};
use quipu_configuration::Settings;

/// Makes the file, unless it exists, readable by its owner only: it contains data about customers, and its
/// folder may be older than the gateway. SQLite's files beside it get the same mode.
pub(crate) fn make_private(settings: &Settings) -> Result<()> {
    let Some(path) = settings.embedded_database() else { return Ok(()) };
    let mut options = OpenOptions::new();
    let opened = options.create(true).append(true).mode(0o600).open(path);
    opened.map(drop).with_context(|| format!("the database {} cannot be opened", path.display()))
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
