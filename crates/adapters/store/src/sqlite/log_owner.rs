//! Finds a write-ahead log that was left by another database.
//!
//! SQLite applies whatever log lies beside a database. If the database is replaced after its process was killed, the log
//! of the former one is laid over the new one, and mixes the two. A log does not say which database it belongs to. So a
//! process that begins to serve empties the log, gives the database a new number, its `user_version`, and writes the
//! same number into a file beside it (its name with `-run`). While there is a log, the two numbers must be equal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use diesel::{
    Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection, connection::SimpleConnection as _,
    sql_query, sql_types::Integer,
};
use uuid::Uuid;

use super::write_ahead_log::beside;
use crate::{
    connection::{keep_log, sqlite_address, sqlite_address_without_log},
    error::file_trouble::FileTrouble,
};

/// A number that no other database has, as far as chance allows. Copies, and databases that were never served, have 0.
type Run = i32;

/// Fails if the log beside the database was left by another one. What cannot be read here shows when it is opened.
pub(crate) fn refuse_foreign_log(path: &str) -> Result<(), FileTrouble> {
    let Ok(itself) = std::fs::canonicalize(path) else { return Ok(()) };
    let is_known = || {
        let Some(run) = run_of(path) else { return true };
        noted(&itself).is_none_or(|noted| noted.contains(&run))
    };
    // A server that starts meanwhile may change both numbers between the two looks at them, but only once.
    if is_known() || is_known() {
        return Ok(());
    }
    if has_log(&itself) {
        return Err(FileTrouble::LogOfAnother);
    }
    // The former database ended without a log, and this one was put in its place.
    let _removed = std::fs::remove_file(run_file(&itself));
    Ok(())
}

/// Copies the log into an embedded database and empties it, and gives the database a new number. The caller holds the lock
/// of the serving process, and nothing in this process has the database open. While another process reads an older state
/// of the database the log cannot be emptied; then the former number stays.
///
/// Errors: the number cannot be written. The database can be served all the same.
pub fn number_run(path: &Path) -> Result<(), String> {
    let itself = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
    let name = path.to_str().ok_or("its name must be UTF-8")?;
    if refuse_foreign_log(name).is_err() {
        // Whoever opens the database next is told.
        return Ok(());
    }
    let mut conn = connect(name).map_err(|error| error.to_string())?;
    empty_log(&mut conn).map_err(|error| error.to_string())?;
    if has_log(&itself) {
        return Ok(());
    }
    let (former, run) = (run_of(name).unwrap_or(0), new_run());
    // Both hold until the database's own file has the new one, which may be after this process was killed.
    write_note(&itself, &[former, run]).map_err(|error| error.to_string())?;
    let numbered = conn.batch_execute(&format!("PRAGMA user_version = {run}"));
    numbered.and_then(|()| empty_log(&mut conn)).map_err(|error| error.to_string())?;
    if run_of(name) == Some(run) {
        write_note(&itself, &[run]).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Makes a copy one that was never served.
pub(crate) fn forget_run(copy: &str) -> Result<(), String> {
    let conn = SqliteConnection::establish(&sqlite_address(copy));
    let mut conn = conn.map_err(|error| error.to_string())?;
    conn.batch_execute("PRAGMA user_version = 0").map_err(|error| error.to_string())
}

fn has_log(itself: &Path) -> bool {
    std::fs::metadata(beside(itself, "-wal")).is_ok_and(|found| found.len() > 0)
}

fn run_file(itself: &Path) -> PathBuf {
    beside(itself, "-run")
}

/// The numbers that are written beside the database; `None` if nothing is, or nothing readable.
fn noted(itself: &Path) -> Option<Vec<Run>> {
    let text = std::fs::read_to_string(run_file(itself)).ok()?;
    text.split_whitespace().map(|run| run.parse().ok()).collect()
}

fn write_note(itself: &Path, runs: &[Run]) -> io::Result<()> {
    let unfinished = beside(itself, "-run.unfinished");
    let mut options = OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&unfinished)?;
    for run in runs {
        writeln!(file, "{run}")?;
    }
    file.sync_all()?;
    std::fs::rename(&unfinished, run_file(itself))?;
    File::open(itself.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Integer)]
    user_version: Run,
}

/// The number in the database's own file, whatever its log says. It is read through SQLite: closing the file directly
/// would release the locks that SQLite holds on it in this process.
fn run_of(path: &str) -> Option<Run> {
    let mut conn = SqliteConnection::establish(&sqlite_address_without_log(path)).ok()?;
    let version: Version = sql_query("PRAGMA user_version").get_result(&mut conn).ok()?;
    Some(version.user_version)
}

fn connect(path: &str) -> Result<SqliteConnection, diesel::result::Error> {
    let conn = SqliteConnection::establish(&sqlite_address(path));
    let mut conn = conn.map_err(|error| diesel::result::Error::QueryBuilderError(error.into()))?;
    conn.batch_execute("PRAGMA busy_timeout = 2000; PRAGMA synchronous = FULL;")?;
    keep_log(&mut conn, std::time::Duration::from_secs(2))?;
    Ok(conn)
}

/// Copies the log into the database and cuts it off, unless somebody reads an older state.
fn empty_log(conn: &mut SqliteConnection) -> diesel::QueryResult<()> {
    conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")
}

/// Positive, since 0 means that there is none.
fn new_run() -> Run {
    let random = Uuid::new_v4().as_u64_pair().1;
    Run::try_from(random % 2_147_483_647).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use diesel::sql_types::Text;

    use super::*;

    #[derive(Debug, PartialEq, Eq, QueryableByName)]
    struct Word {
        #[diesel(sql_type = Text)]
        word: String,
    }

    /// A database with one row for each word, served, and killed: its log has the last word.
    fn killed(folder: &Path, words: &[&str]) -> PathBuf {
        let path = folder.join("quipu.db");
        let name = path.to_str().expect("UTF-8");
        fs::write(&path, "").expect("an empty database");
        number_run(&path).expect("numbered");
        let open = || SqliteConnection::establish(&sqlite_address(name)).expect("opened");
        open().batch_execute("CREATE TABLE words (word TEXT)").expect("made");
        let mut conn = open();
        for word in words {
            conn.batch_execute(&format!("INSERT INTO words VALUES ('{word}')")).expect("written");
        }
        // What a kill leaves is what is on disk while the connection is open.
        for ending in ["", "-wal"] {
            fs::copy(beside(&path, ending), beside(&path, &format!("{ending}.kept"))).expect("copied");
        }
        drop(conn);
        for ending in ["", "-wal"] {
            fs::rename(beside(&path, &format!("{ending}.kept")), beside(&path, ending)).expect("put back");
        }
        path
    }

    #[test]
    fn a_log_is_applied_to_the_database_that_wrote_it_and_to_no_other() {
        let (first, second) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (own, other) = (killed(first.path(), &["one"]), killed(second.path(), &["two"]));
        let own = own.to_str().expect("UTF-8");
        assert_eq!(refuse_foreign_log(own), Ok(()));
        let (former, log) = (format!("{own}.former"), beside(Path::new(own), "-wal"));
        fs::rename(own, &former).expect("moved away");
        fs::copy(&other, own).expect("replaced");
        assert_eq!(refuse_foreign_log(own), Err(FileTrouble::LogOfAnother));
        fs::rename(&log, format!("{own}.log")).expect("moved away");
        assert_eq!(refuse_foreign_log(own), Ok(()));

        // It was not served yet: what a command writes into its log is its own.
        fs::rename(format!("{own}.log"), &log).expect("put back");
        assert_eq!(refuse_foreign_log(own), Ok(()));
    }

    #[test]
    fn a_database_that_comes_back_has_its_log_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = killed(folder.path(), &["one"]);
        let (name, former) = (path.to_str().expect("UTF-8"), folder.path().join("former"));
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).expect("copied");
        forget_run(copy.to_str().expect("UTF-8")).expect("a copy was never served");
        fs::rename(&path, &former).expect("moved away");
        fs::rename(&copy, &path).expect("replaced");
        assert_eq!(refuse_foreign_log(name), Err(FileTrouble::LogOfAnother));
        fs::rename(&former, &path).expect("moved back");
        assert_eq!(refuse_foreign_log(name), Ok(()));
    }

    #[test]
    fn a_start_applies_the_log_that_a_kill_left_and_gives_a_new_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = killed(folder.path(), &["one"]);
        let (name, cold) = (path.to_str().expect("UTF-8"), folder.path().join("cold"));
        fs::copy(&path, &cold).expect("a copy by hand");
        let former = run_of(name);
        // Somebody who has the database open and reads nothing is in nobody's way.
        let _idle = connect(name).expect("opened");
        number_run(&path).expect("numbered");
        assert!(run_of(name) != former && run_of(name) != Some(0));
        assert_eq!(noted(&path), run_of(name).map(|run| vec![run]));
        let words: Vec<Word> =
            sql_query("SELECT word FROM words").load(&mut connect(name).expect("opened")).expect("read");
        assert_eq!(words, [Word { word: "one".to_owned() }], "what was only in the log");
        connect(name).expect("opened").batch_execute("INSERT INTO words VALUES ('two')").expect("written");
        fs::rename(&cold, &path).expect("replaced");
        assert_eq!(refuse_foreign_log(name), Err(FileTrouble::LogOfAnother));
    }

    #[test]
    fn a_kill_between_the_two_numbers_leaves_both_good() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = killed(folder.path(), &["one"]);
        let name = path.to_str().expect("UTF-8");
        let run = run_of(name).expect("a database");
        for noted in [&[run, 5][..], &[5, run]] {
            write_note(&path, noted).expect("written");
            assert_eq!(refuse_foreign_log(name), Ok(()), "{noted:?}");
        }
        write_note(&path, &[5]).expect("written");
        assert_eq!(refuse_foreign_log(name), Err(FileTrouble::LogOfAnother));
    }
}
