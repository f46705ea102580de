//! Copies of an embedded database.

use std::{
    fs::OpenOptions,
    io,
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
    let copied = io_copy(file, &unfinished.0);
    copied.map_err(|error| failed(file, &error))?;
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

fn io_copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = std::fs::File::open(from)?;
    let mut target = OpenOptions::new().write(true).open(to)?;
    io::copy(&mut source, &mut target).map(drop)
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
