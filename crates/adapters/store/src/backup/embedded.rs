//! Copies of an embedded database.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use diesel::{
    Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection, connection::SimpleConnection as _,
    sql_query, sql_types::Text,
};

use super::{BackupError, Unfinished, failed};
use crate::{
    connection::sqlite_address,
    sqlite::log_owner::{forget_run, refuse_foreign_log},
};

/// The bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Copies the database with `VACUUM INTO`, which reads one state of it to the end and does not block writers.
/// SQLite's own backup starts again after every write, so it would never end under load.
pub(super) fn back_up(path: &str, into: &Path, file: &Path) -> Result<(), BackupError> {
    // One statement reads the database and writes the copy, and its error does not say which of the two
    // failed.
    let failed = |error: &dyn std::fmt::Display| {
        BackupError::Failed(format!("{path} cannot be copied to {}: {error}", file.display()))
    };
    let into = into.to_str().ok_or_else(|| failed(&"the name of the copy must be UTF-8"))?;
    refuse_foreign_log(path).map_err(|trouble| failed(&trouble))?;
    let mut conn = SqliteConnection::establish(&sqlite_address(path)).map_err(|error| failed(&error))?;
    conn.batch_execute("PRAGMA busy_timeout = 60000; PRAGMA cache_size = -8192;")
        .map_err(|error| failed(&error))?;
    sql_query("VACUUM INTO ?").bind::<Text, _>(into).execute(&mut conn).map_err(|error| failed(&error))?;
    forget_run(into).map_err(|error| failed(&error))
}

/// Puts a copy in the database's place, after it was verified.
pub(super) fn restore(database: &Path, file: &Path) -> Result<(), BackupError> {
    refuse_remains(database)?;
    let beside_file = beside(file, "-wal");
    if std::fs::metadata(&beside_file).is_ok_and(|found| found.len() > 0) {
        return Err(BackupError::NotACopy(format!(
            "{} holds changes that are not in the file yet: this is a database in use and no copy; make one with \
             `quipu backup`",
            beside_file.display()
        )));
    }
    let unfinished = Unfinished::beside(database)?;
    copy(file, &unfinished.0)?;
    verify(&unfinished.0, file)?;
    unfinished.become_file(database).map_err(|error| match error {
        BackupError::FileExists(path) => exists(&path),
        other => other,
    })
}

/// Refuses if files of a former database are left: SQLite would apply a former log to the restored database,
/// and spoil it.
fn refuse_remains(database: &Path) -> Result<(), BackupError> {
    for suffix in ["", "-wal", "-journal"] {
        let path = beside(database, suffix);
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path));
        }
    }
    Ok(())
}

fn exists(path: &Path) -> BackupError {
    BackupError::DatabaseExists(format!(
        "{} exists, and nothing is overwritten: move the former database away, with the files that begin with its name",
        path.display()
    ))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies a file over one that is there; the error names the one that failed.
fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (of_source, of_target) =
        (|error: io::Error| failed(from, &error), |error: io::Error| failed(to, &error));
    let mut source = File::open(from).map_err(of_source)?;
    let mut target = OpenOptions::new().write(true).open(to).map_err(of_target)?;
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => target.write_all(&piece[..read]).map_err(of_target)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(of_source(error)),
        }
    }
}

#[derive(QueryableByName)]
struct Finding {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

/// Checks every page and every index of the copy, and that the gateway made it.
fn verify(copy: &Path, file: &Path) -> Result<(), BackupError> {
    let broken = |said: &dyn std::fmt::Display| {
        BackupError::NotACopy(format!("{} cannot be restored: {said}", file.display()))
    };
    let path = copy.to_str().ok_or_else(|| broken(&"its name must be UTF-8"))?;
    let mut conn = SqliteConnection::establish(&sqlite_address(path)).map_err(|error| broken(&error))?;
    let findings: Vec<Finding> =
        sql_query("PRAGMA integrity_check(10)").load(&mut conn).map_err(|error| broken(&error))?;
    if let Some(finding) = findings.iter().find(|finding| finding.integrity_check != "ok") {
        return Err(broken(&finding.integrity_check));
    }
    let migrated = sql_query("SELECT 1 FROM __diesel_schema_migrations LIMIT 1").execute(&mut conn);
    migrated.map(drop).map_err(|_| broken(&"it has no tables of Quipu's"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_by_the_file_on_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let backup = folder.path().join("backup");
        std::fs::write(&backup, "a copy").expect("written");
        let said = |from, to| copy(from, to).expect_err("refused").to_string();
        assert!(said(&backup, Path::new("/dev/full")).starts_with("/dev/full: No space left"));
        let nowhere = folder.path().join("nowhere");
        for (from, to) in [(&backup, &nowhere), (&nowhere, &backup)] {
            assert!(said(from, to).starts_with(&nowhere.display().to_string()));
        }
    }
}
