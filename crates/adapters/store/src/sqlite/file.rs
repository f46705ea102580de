//! The file of an embedded database: finds out if it was removed, replaced or truncated.
//!
//! If the file is removed or replaced, a process that has it open keeps writing to the old file, which is lost. SQLite does
//! not check for this. So this module looks whenever a connection is taken, and verifies what was written before a commit
//! is acknowledged.

use std::{
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use diesel::{QueryableByName, RunQueryDsl as _, sql_query, sql_types::BigInt};

use crate::{
    connection::Connection,
    error::{Fault, file_trouble::FileTrouble},
    sqlite::{
        file_identity::{Identity, identity_of, metadata},
        log_owner::refuse_foreign_log,
        write_ahead_log::{WriteAheadLog, beside},
    },
};

/// The file of an embedded database, with its identity when it was opened.
pub(crate) struct DatabaseFile {
    path: String,
    identity: Identity,
    log: WriteAheadLog,
    /// The greatest length that was seen: SQLite never shortens the file unless ordered to.
    longest: AtomicU64,
    is_truncated: AtomicBool,
    is_in_trouble: AtomicBool,
    /// SQLite keeps the log as long as a connection is open, so the log stays the one that was opened.
    _keeper: Mutex<Connection>,
}

#[derive(QueryableByName)]
struct PageSize {
    #[diesel(sql_type = BigInt)]
    page_size: i64,
}

impl DatabaseFile {
    /// Opens the database and remembers its files.
    pub(crate) fn open(path: &str) -> Result<Self, Fault> {
        let unopened = |error: io::Error| Fault::Unconnected(error.to_string());
        let found = std::fs::metadata(path).map_err(unopened)?;
        if is_read_only(&found) {
            return Err(Fault::Lost(FileTrouble::ReadOnly));
        }
        // SQLite keeps its log beside the file itself, not beside a link to it.
        let itself = std::fs::canonicalize(path).map_err(unopened)?;
        for companion in [beside(&itself, "-wal"), beside(&itself, "-shm")] {
            make_writable(&companion, &found).map_err(Fault::Lost)?;
        }
        refuse_foreign_log(path).map_err(Fault::Lost)?;
        let mut keeper = Connection::open_sqlite(path, Duration::from_secs(2))?;
        let Connection::Sqlite(conn) = &mut keeper else { return Err(Fault::Abandoned) };
        // SQLite creates its log at the first read.
        sql_query("SELECT COUNT(*) FROM sqlite_schema").execute(conn)?;
        let page: PageSize = sql_query("PRAGMA page_size").get_result(conn)?;
        let page = usize::try_from(page.page_size).unwrap_or(0);
        let file = Self {
            path: path.to_owned(),
            identity: identity_of(&found),
            log: WriteAheadLog::open(&itself, page).map_err(unopened)?,
            longest: AtomicU64::new(0),
            is_truncated: AtomicBool::new(false),
            is_in_trouble: AtomicBool::new(false),
            _keeper: Mutex::new(keeper),
        };
        file.require_intact().map_err(Fault::Lost)?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// A connection to exactly this file.
    pub(crate) fn connect(&self, lock: Duration) -> Result<Connection, Fault> {
        self.require_in_place().map_err(Fault::Lost)?;
        let conn = Connection::open_sqlite(&self.path, lock)?;
        // The name may have been given to another file meanwhile.
        self.require_in_place().map_err(Fault::Lost)?;
        Ok(conn)
    }

    /// Fails unless the files are still the ones that were opened, and intact.
    pub(crate) fn require_in_place(&self) -> Result<(), FileTrouble> {
        self.log_turn(self.found().and_then(|()| self.log.require_in_place()))
    }

    /// Like [`Self::require_in_place`]; fails also if the log has lost something that was written since the last call.
    pub(crate) fn require_intact(&self) -> Result<(), FileTrouble> {
        self.log_turn(self.found().and_then(|()| self.log.require_intact()))
    }

    /// Logs when trouble begins or ends.
    fn log_turn(&self, found: Result<(), FileTrouble>) -> Result<(), FileTrouble> {
        let is_in_trouble = found.is_err();
        if self.is_in_trouble.load(Ordering::Relaxed) != is_in_trouble
            && self.is_in_trouble.swap(is_in_trouble, Ordering::Relaxed) != is_in_trouble
        {
            if let Err(trouble) = found {
                tracing::error!("{trouble}; until then nothing is acknowledged");
            } else {
                tracing::warn!("the database file is as it was; calls are served again");
            }
        }
        found
    }

    fn found(&self) -> Result<(), FileTrouble> {
        // Loaded before the file's length is read, so that growth seen by a concurrent look does not count as
        // shrinking.
        let longest = self.longest.load(Ordering::Acquire);
        let file = metadata(self.path(), FileTrouble::Gone)?;
        if identity_of(&file) != self.identity {
            return Err(FileTrouble::Replaced);
        }
        if file.len() < longest {
            // The file may grow again, but its lost content does not come back.
            self.is_truncated.store(true, Ordering::Relaxed);
        } else if file.len() > longest {
            self.longest.fetch_max(file.len(), Ordering::AcqRel);
        }
        if self.is_truncated.load(Ordering::Relaxed) {
            return Err(FileTrouble::Truncated);
        }
        if is_read_only(&file) {
            return Err(FileTrouble::ReadOnly);
        }
        Ok(())
    }
}

fn is_read_only(file: &Metadata) -> bool {
    file.mode() & 0o222 == 0
}

/// Gives a read-only file beside a writable database the database's mode. SQLite makes such files with that mode, and does
/// not change it when the database is made writable again.
fn make_writable(companion: &Path, database: &Metadata) -> Result<(), FileTrouble> {
    match std::fs::metadata(companion) {
        Ok(found) if is_read_only(&found) => std::fs::set_permissions(companion, database.permissions())
            .map_err(|_| FileTrouble::CompanionReadOnly),
        // Whatever else is wrong shows when it is opened.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// A database in a folder of its own.
    fn database() -> (tempfile::TempDir, String, DatabaseFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("quipu.db").display().to_string();
        fs::write(&path, "").expect("an empty database");
        let file = DatabaseFile::open(&path).expect("opened");
        assert_eq!(file.require_in_place(), Ok(()));
        (folder, path, file)
    }

    #[test]
    fn a_file_that_is_moved_away_and_back_is_missed_and_found() {
        let (_folder, path, file) = database();
        let away = format!("{path}.away");
        fs::rename(&path, &away).expect("moved");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Gone));
        assert!(file.connect(Duration::ZERO).is_err());
        assert!(!Path::new(&path).exists(), "nobody made another");
        fs::copy(&away, &path).expect("copied");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Replaced));
        fs::rename(&away, &path).expect("moved back");
        assert_eq!(file.require_in_place(), Ok(()));
        assert!(file.connect(Duration::ZERO).is_ok());
    }

    #[test]
    fn the_log_belongs_to_it() {
        let (_folder, path, file) = database();
        let (log, away) = (format!("{path}-wal"), format!("{path}-wal.away"));
        fs::rename(&log, &away).expect("moved");
        assert_eq!(file.require_in_place(), Err(FileTrouble::LogGone));
        fs::write(&log, "").expect("written");
        assert_eq!(file.require_in_place(), Err(FileTrouble::LogReplaced));
        fs::rename(&away, &log).expect("moved back");
        assert_eq!(file.require_in_place(), Ok(()));
    }

    #[test]
    fn what_other_processes_are_told_by_belongs_to_it_and_is_not_put_back() {
        let (_folder, path, file) = database();
        let (index, away) = (format!("{path}-shm"), format!("{path}-shm.away"));
        fs::rename(&index, &away).expect("moved");
        assert_eq!(file.require_in_place(), Err(FileTrouble::IndexGone));
        fs::write(&index, "").expect("written");
        assert_eq!(file.require_in_place(), Err(FileTrouble::IndexGone));
        fs::rename(&away, &index).expect("moved back");
        let found = file.require_in_place();
        assert_eq!(found, Err(FileTrouble::IndexGone), "it does not know what was written meanwhile");
        drop(file);
        assert_eq!(DatabaseFile::open(&path).expect("opened").require_in_place(), Ok(()));
    }

    #[test]
    fn what_was_made_beside_it_while_it_was_read_only_is_made_writable_too() {
        let (folder, path, file) = database();
        drop(file);
        let made = |name: &str| folder.path().join(format!("quipu.db{name}"));
        let read_only =
            |file: &Path| fs::set_permissions(file, fs::Permissions::from_mode(0o400)).expect("changed");
        for name in ["-wal", "-shm"] {
            fs::write(made(name), "").expect("written");
            read_only(&made(name));
        }
        read_only(Path::new(&path));
        assert!(matches!(DatabaseFile::open(&path), Err(Fault::Lost(FileTrouble::ReadOnly))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        let file = DatabaseFile::open(&path).expect("opened");
        assert_eq!(file.require_in_place(), Ok(()));
        for name in ["-wal", "-shm"] {
            assert_eq!(fs::metadata(made(name)).expect("there").mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn what_was_truncated_stays_so_and_what_is_read_only_does_not() {
        let (_folder, path, file) = database();
        let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
        set_mode(0o400);
        assert_eq!(file.require_in_place(), Err(FileTrouble::ReadOnly));
        set_mode(0o600);
        assert_eq!(file.require_in_place(), Ok(()));
        let length = fs::metadata(&path).expect("there").len();
        let opened = fs::OpenOptions::new().write(true).open(&path).expect("opened");
        opened.set_len(length - 1).expect("truncated");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Truncated));
        opened.set_len(length).expect("made longer");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Truncated));
    }

    #[test]
    fn a_link_that_points_elsewhere_is_another_file() {
        let (folder, path, _file) = database();
        let link = folder.path().join("link").display().to_string();
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        let file = DatabaseFile::open(&link).expect("opened");
        fs::remove_file(&link).expect("removed");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Gone));
        let other = format!("{path}.other");
        fs::write(&other, "").expect("written");
        std::os::unix::fs::symlink(&other, &link).expect("linked");
        assert_eq!(file.require_in_place(), Err(FileTrouble::Replaced));
    }
}
