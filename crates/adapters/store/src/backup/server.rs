//! Copies of a database on a server, made by PostgreSQL's own programs.

use std::{
    io::ErrorKind,
    path::Path,
    process::{Command, Stdio},
};

use diesel::{QueryableByName, sql_query, sql_types::Bool};
use diesel_async::RunQueryDsl as _;

use super::{BackupError, program_address::ProgramAddress};
use crate::{migrate, settings::StoreSettings};

const DUMP_ELSEWHERE: &str = "install PostgreSQL's client programs in the release of the server, or run where they are, \
    with the password in PGPASSWORD and not in ADDRESS, `pg_dump --format=custom --file=FILE ADDRESS`";
const RESTORE_ELSEWHERE: &str = "install PostgreSQL's client programs in the release of the server, or run where they are, \
    with the password in PGPASSWORD and not in ADDRESS, `pg_restore --exit-on-error --single-transaction --no-owner \
    --no-privileges --no-comments --dbname=ADDRESS FILE`, and `quipu check` afterwards";

/// The table of the applied migrations, which every database of the gateway has.
const LIST_OF_APPLIED: &str = "__diesel_schema_migrations";

/// Copies one snapshot of the database, without blocking writers.
pub(super) fn back_up(url: &str, into: &Path) -> Result<(), BackupError> {
    let address = ProgramAddress::to_read(url);
    let mut dump = Command::new("pg_dump");
    dump.args(["--format=custom", "--no-password"]).arg("--file").arg(into).arg(address.url());
    run(dump, address.password, "pg_dump", DUMP_ELSEWHERE).map(drop)
}

/// Refuses a copy that the gateway did not make.
pub(super) fn verify(file: &Path) -> Result<(), BackupError> {
    let mut list = Command::new("pg_restore");
    list.arg("--list").arg(file);
    if run(list, None, "pg_restore", RESTORE_ELSEWHERE)?.contains(LIST_OF_APPLIED) {
        return Ok(());
    }
    Err(BackupError::NotACopy(format!("{} cannot be restored: it has no tables of Quipu's", file.display())))
}

/// Restores the whole copy or nothing.
pub(super) fn restore(url: &str, file: &Path) -> Result<(), BackupError> {
    let address = ProgramAddress::to_write(url);
    let mut restore = Command::new("pg_restore");
    restore.args(["--exit-on-error", "--single-transaction", "--no-password"]);
    // The user who restores may have another name, and may lack the right to describe extensions.
    restore.args(["--no-owner", "--no-privileges", "--no-comments", "--dbname", &address.url()]).arg(file);
    run(restore, address.password, "pg_restore", RESTORE_ELSEWHERE).map(drop)
}

/// Runs a program; returns what it printed.
fn run(
    mut command: Command,
    password: Option<String>,
    program: &'static str,
    instead: &'static str,
) -> Result<String, BackupError> {
    // All users of the machine can read a program's arguments, but only the same user its environment.
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    match command.stdin(Stdio::null()).output() {
        Ok(done) if done.status.success() => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(BackupError::Failed(format!("{program} failed: {}", said.trim())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(BackupError::ProgramMissing { program, instead })
        }
        Err(error) => Err(BackupError::Failed(format!("{program}: {error}"))),
    }
}

#[derive(QueryableByName)]
struct Made {
    #[diesel(sql_type = Bool)]
    is_made: bool,
}

/// Refuses a database that was never migrated.
pub(super) async fn require_made(settings: &StoreSettings) -> Result<(), BackupError> {
    let failed = |error: &dyn std::fmt::Display| BackupError::Failed(error.to_string());
    let mut conn = migrate::connect_postgres_to_read(settings).await.map_err(|error| failed(&error))?;
    for question in [
        format!("SELECT to_regclass('{LIST_OF_APPLIED}') IS NOT NULL AS is_made"),
        format!("SELECT EXISTS (SELECT 1 FROM {LIST_OF_APPLIED}) AS is_made"),
    ] {
        let made: Made = sql_query(question).get_result(&mut conn).await.map_err(|error| failed(&error))?;
        if !made.is_made {
            return Err(BackupError::NotMade);
        }
    }
    Ok(())
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Bool)]
    has_tables: bool,
    #[diesel(sql_type = Bool)]
    is_in_use: bool,
}

/// Refuses a database that has tables, or that a gateway is connected to.
pub(super) async fn require_empty(settings: &StoreSettings) -> Result<(), BackupError> {
    let failed = |error: &dyn std::fmt::Display| BackupError::Failed(error.to_string());
    let mut conn = migrate::connect_postgres(settings).await.map_err(|error| failed(&error))?;
    let query = "SELECT
        EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = ANY (current_schemas(false))) AS has_tables,
        EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND application_name IN ('quipu', current_setting('application_name'))) AS is_in_use";
    let found: Found = sql_query(query).get_result(&mut conn).await.map_err(|error| failed(&error))?;
    if found.is_in_use {
        return Err(BackupError::InUse);
    }
    if found.has_tables {
        return Err(BackupError::DatabaseExists(
            "the database has tables already, and nothing is overwritten: restore into an empty one"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_what_to_do_instead() {
        let missing = Command::new("quipu-has-no-such-program");
        let told = run(missing, None, "pg_dump", DUMP_ELSEWHERE).expect_err("it is missing").to_string();
        assert!(told.contains("pg_dump is not installed here") && told.contains("--format=custom"), "{told}");
    }
}
