//! Copies a whole database into one file while servers write to it, and restores it.
//!
//! [`embedded`] copies SQLite's file, [`server`] runs PostgreSQL's own programs. Both write under a temporary
//! name first, so that a file with the requested name is always complete.

mod embedded;
mod program_address;
mod server;

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use crate::settings::StoreSettings;

/// Why a copy or a restore failed. The texts are for the person who typed the command.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file for the copy exists already.
    #[error("{0} exists already, and nothing is overwritten")]
    FileExists(PathBuf),
    /// The file is not a copy of this kind of database.
    #[error("{0}")]
    NotACopy(String),
    /// The database to restore exists already.
    #[error("{0}")]
    DatabaseExists(String),
    /// The database to copy is not the gateway's.
    #[error(
        "the database has no tables of Quipu's: is `database_url` right? If it is, run `quipu migrate` first"
    )]
    NotMade,
    /// A server, or another command, uses the database to restore.
    #[error("another process is connected to the database: stop every server first")]
    InUse,
    /// A program of PostgreSQL is not installed.
    #[error("{program} is not installed here: {instead}")]
    ProgramMissing {
        /// The name of the program.
        program: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The tables of the copy were restored where no gateway would find them.
    #[error(
        "the copy is restored, into a schema that is not on the search_path of the database's address: set it as it was \
         where the copy was made, for the database or by `options=-csearch_path%3D…` in database_url, then run `quipu check`"
    )]
    OutOfSight,
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

/// Copies the whole database into `file`, as it is at one moment, without blocking writers; returns the size
/// in bytes. On return the copy is on disk under its name, readable by its owner only. A server's database
/// without tables of the gateway is refused, since its name may be wrong. Blocks until the copy is complete.
pub fn back_up(
    settings: &StoreSettings,
    file: &Path,
    runtime: &tokio::runtime::Handle,
) -> Result<u64, BackupError> {
    if file.try_exists().map_err(|error| failed(file, &error))? {
        return Err(BackupError::FileExists(file.to_owned()));
    }
    let unfinished = Unfinished::beside(file)?;
    if let Some(path) = settings.sqlite_path() {
        embedded::back_up(path, &unfinished.0, file)?;
    } else {
        runtime.block_on(server::require_made(settings))?;
        server::back_up(&settings.url, &unfinished.0)?;
    }
    unfinished.become_file(file)?;
    Ok(std::fs::metadata(file).map_err(|error| failed(file, &error))?.len())
}

/// Restores the database from a copy. The database must not exist yet, and no process may be connected to its
/// place; for an embedded database the caller ensures that. Migrations that the copy lacks are not applied.
/// Blocks until the restore is complete.
pub fn restore(
    settings: &StoreSettings,
    file: &Path,
    runtime: &tokio::runtime::Handle,
) -> Result<(), BackupError> {
    let kind = kind_of(file)?;
    match (settings.sqlite_path(), kind) {
        (Some(path), Kind::Embedded) => embedded::restore(Path::new(path), file),
        (None, Kind::Server) => {
            server::verify(file)?;
            runtime.block_on(server::require_empty(settings))?;
            server::restore(&settings.url, file)?;
            runtime.block_on(server::require_made(settings)).map_err(|error| match error {
                BackupError::NotMade => BackupError::OutOfSight,
                error => error,
            })
        }
        (Some(_), Kind::Server) => Err(BackupError::NotACopy(
            "the file is a copy of a PostgreSQL database, and database_url names an embedded one".to_owned(),
        )),
        (None, Kind::Embedded) => Err(BackupError::NotACopy(
            "the file is a copy of an embedded database, and database_url names a PostgreSQL server"
                .to_owned(),
        )),
    }
}

enum Kind {
    Embedded,
    Server,
}

/// The first bytes of a copy.
const EMBEDDED: &[u8] = b"SQLite format 3\0";
const SERVER: &[u8] = b"PGDMP";

fn kind_of(file: &Path) -> Result<Kind, BackupError> {
    let mut opened = File::open(file).map_err(|error| failed(file, &error))?;
    let mut head = [0; EMBEDDED.len()];
    let mut length = 0;
    while length < head.len() {
        match opened.read(&mut head[length..]).map_err(|error| failed(file, &error))? {
            0 => break,
            read => length += read,
        }
    }
    match &head[..length] {
        head if head.starts_with(EMBEDDED) => Ok(Kind::Embedded),
        head if head.starts_with(SERVER) => Ok(Kind::Server),
        _ => Err(BackupError::NotACopy(format!("{} is no backup of Quipu", file.display()))),
    }
}

/// A file under a temporary name, removed unless it gets its final name.
struct Unfinished(PathBuf);

impl Unfinished {
    /// An empty file in the same folder, readable by its owner only, since it will hold customers' data.
    fn beside(file: &Path) -> Result<Self, BackupError> {
        let file = std::path::absolute(file).map_err(|error| failed(file, &error))?;
        let mut name = file.clone().into_os_string();
        name.push(format!(".unfinished-{}", uuid::Uuid::new_v4().simple()));
        let path = PathBuf::from(name);
        let mut options = OpenOptions::new();
        let made = options.create_new(true).write(true).mode(0o600).open(&path);
        made.map_err(|error| failed(&file, &error))?;
        Ok(Self(path))
    }

    /// Gives the file its final name once it is on disk, unless another file has taken that name meanwhile.
    fn become_file(self, file: &Path) -> Result<(), BackupError> {
        let synced = OpenOptions::new().write(true).open(&self.0).and_then(|opened| opened.sync_all());
        synced.map_err(|error| failed(&self.0, &error))?;
        match std::fs::hard_link(&self.0, file) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(BackupError::FileExists(file.to_owned()));
            }
            // Not every file system supports hard links.
            Err(_) => std::fs::rename(&self.0, file).map_err(|error| failed(file, &error))?,
        }
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(folder, &error))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A file that cannot be removed does no harm beside the finished copy or the reported error.
        let _removed = std::fs::remove_file(&self.0);
        // SQLite keeps a journal beside the file that it writes, and leaves it there after a failure.
        let mut journal = self.0.clone().into_os_string();
        journal.push("-journal");
        let _removed = std::fs::remove_file(journal);
    }
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> BackupError {
    BackupError::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_and_nothing_unfinished_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("copy");
        let (first, late) =
            (Unfinished::beside(&file).expect("made"), Unfinished::beside(&file).expect("made"));
        std::fs::write(&first.0, "first").expect("written");
        first.become_file(&file).expect("the name is free");
        let refused = late.become_file(&file).expect_err("the name is taken");
        assert!(matches!(refused, BackupError::FileExists(_)), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "first");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn what_is_no_copy_is_told_from_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("copy");
        for (bytes, known) in [
            (&b""[..], false),
            (b"SQLite", false),
            (b"PGDMP\x01\x0e", true),
            (b"SQLite format 3\0\x10", true),
        ] {
            std::fs::write(&file, bytes).expect("written");
            assert_eq!(kind_of(&file).is_ok(), known, "{bytes:?}");
        }
    }
}
