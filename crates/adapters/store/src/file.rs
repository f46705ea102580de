//! The file of an embedded database, as others see it.
//!
//! If the file is removed or replaced, a process that has it open keeps writing to the old file, which is lost. SQLite does
//! not check for this. So this module checks it whenever a connection is taken and before a commit is acknowledged. A look
//! is four calls of the system and reads four bytes.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use diesel::{QueryableByName, RunQueryDsl as _, sql_query, sql_types::BigInt};

use crate::{connection::Connection, error::Fault, file_trouble::FileTrouble, lock::locked};

/// What tells a file from every other one.
type Identity = (u64, u64);

/// An embedded database's file, which was there when this was made.
pub(crate) struct DatabaseFile {
    path: String,
    log: PathBuf,
    identity: Identity,
    log_identity: Identity,
    /// The log, to be read. SQLite locks its other files, whose locks would end whenever one of them is closed.
    opened_log: File,
    /// What processes that share the database tell each other: where the log ends, and who locks what.
    index: PathBuf,
    index_identity: Identity,
    /// The longest that the file was seen: SQLite never shortens it unless it is told to.
    longest: AtomicU64,
    is_truncated: AtomicBool,
    /// The longest that the log was seen since it last became shorter by right.
    longest_log: AtomicU64,
    /// Where the last frame of the log was seen, from its begin; zero if none was.
    last_frame: AtomicU64,
    is_log_truncated: AtomicBool,
    is_in_trouble: AtomicBool,
    /// Of the log: a page of the database and its header.
    frame: u64,
    /// While there is a connection SQLite keeps the log, so that it stays the one that was seen at first.
    keeper: Mutex<Connection>,
}

/// What stands before the frames of the log.
const LOG_HEADER: u64 = 32;
/// What stands before the page in each frame.
const FRAME_HEADER: u64 = 24;

#[derive(QueryableByName)]
struct PageSize {
    #[diesel(sql_type = BigInt)]
    page_size: i64,
}

#[derive(QueryableByName)]
struct Log {
    #[diesel(sql_type = BigInt)]
    log: i64,
}

impl DatabaseFile {
    /// Opens the database and remembers its files.
    pub(crate) fn open(path: &str) -> Result<Self, Fault> {
        let unopened = |error: io::Error| Fault::Unconnected(error.to_string());
        let identity = identity_of(&std::fs::metadata(path).map_err(unopened)?);
        let mut keeper = Connection::open_sqlite(path, Duration::from_secs(2))?;
        let Connection::Sqlite(conn) = &mut keeper else { return Err(Fault::Abandoned) };
        // The first thing that is read has SQLite make its log.
        sql_query("SELECT COUNT(*) FROM sqlite_schema").execute(conn)?;
        let page: PageSize = sql_query("PRAGMA page_size").get_result(conn)?;
        // SQLite keeps its log beside the file itself, wherever a link to it may be.
        let itself = std::fs::canonicalize(path).map_err(unopened)?;
        let beside = |what: &str| {
            let mut name = itself.clone().into_os_string();
            name.push(what);
            PathBuf::from(name)
        };
        let (log, index) = (beside("-wal"), beside("-shm"));
        let opened_log = File::open(&log).map_err(unopened)?;
        let log_identity = identity_of(&opened_log.metadata().map_err(unopened)?);
        let index_identity = identity_of(&std::fs::metadata(&index).map_err(unopened)?);
        let file = Self {
            path: path.to_owned(),
            log,
            identity,
            log_identity,
            opened_log,
            index,
            index_identity,
            longest: AtomicU64::new(0),
            is_truncated: AtomicBool::new(false),
            longest_log: AtomicU64::new(0),
            last_frame: AtomicU64::new(0),
            is_log_truncated: AtomicBool::new(false),
            is_in_trouble: AtomicBool::new(false),
            frame: FRAME_HEADER + u64::try_from(page.page_size).unwrap_or(0),
            keeper: Mutex::new(keeper),
        };
        file.look().map_err(Fault::Lost)?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// A connection to this very file.
    pub(crate) fn connect(&self, lock: Duration) -> Result<Connection, Fault> {
        self.look().map_err(Fault::Lost)?;
        let conn = Connection::open_sqlite(&self.path, lock)?;
        // The name may have been given to another file meanwhile.
        self.look().map_err(Fault::Lost)?;
        Ok(conn)
    }

    /// Whether the files are still the ones that were opened.
    pub(crate) fn look(&self) -> Result<(), FileTrouble> {
        let found = self.found();
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
        // Read before the look, or a look that was overtaken would seem to see the file shrink.
        let longest = self.longest.load(Ordering::Acquire);
        let file = metadata(self.path(), FileTrouble::Gone)?;
        if identity_of(&file) != self.identity {
            return Err(FileTrouble::Replaced);
        }
        if file.len() < longest {
            // It may grow again, but what was in it will not come back.
            self.is_truncated.store(true, Ordering::Relaxed);
        } else if file.len() > longest {
            self.longest.fetch_max(file.len(), Ordering::AcqRel);
        }
        if self.is_truncated.load(Ordering::Relaxed) {
            return Err(FileTrouble::Truncated);
        }
        if file.mode() & 0o222 == 0 {
            return Err(FileTrouble::ReadOnly);
        }
        self.found_log()?;
        let index = metadata(&self.index, FileTrouble::IndexGone)?;
        if identity_of(&index) == self.index_identity { Ok(()) } else { Err(FileTrouble::IndexGone) }
    }

    fn found_log(&self) -> Result<(), FileTrouble> {
        let longest = self.longest_log.load(Ordering::Acquire);
        let log = metadata(&self.log, FileTrouble::LogGone)?;
        if identity_of(&log) != self.log_identity {
            return Err(FileTrouble::LogReplaced);
        }
        if self.has_a_hole() {
            self.is_log_truncated.store(true, Ordering::Relaxed);
        }
        self.see_last_frame(log.len());
        if log.len() > longest {
            self.longest_log.fetch_max(log.len(), Ordering::AcqRel);
        } else if log.len() < longest {
            // SQLite shortens it too, once everything in it is in the database. Looked at twice, since it may do so just now.
            if self.lacks_frames() && self.lacks_frames() {
                self.is_log_truncated.store(true, Ordering::Relaxed);
            } else {
                self.longest_log.store(log.len(), Ordering::Release);
            }
        }
        if self.is_log_truncated.load(Ordering::Relaxed) { Err(FileTrouble::LogTruncated) } else { Ok(()) }
    }

    /// Whether the log was cut off and written on where it had ended: it is long again, and there are zeros where its last frame was
    /// seen. What was never seen as a frame may be zeros by right: a power failure leaves such an end.
    fn has_a_hole(&self) -> bool {
        let at = self.last_frame.load(Ordering::Acquire);
        at > 0 && self.page_at(at) == Some(0)
    }

    /// Remembers where the last whole frame of so long a log is.
    fn see_last_frame(&self, length: u64) {
        let Some(before) = (length.saturating_sub(LOG_HEADER) / self.frame).checked_sub(1) else { return };
        let at = LOG_HEADER + before * self.frame;
        if self.last_frame.load(Ordering::Acquire) != at && self.page_at(at).is_some_and(|page| page > 0) {
            self.last_frame.store(at, Ordering::Release);
        }
    }

    /// The number of a page of the database, with which each frame begins; none if the log ends before. No page has number zero.
    fn page_at(&self, at: u64) -> Option<u32> {
        let mut number = [0; 4];
        self.opened_log.read_exact_at(&mut number, at).ok()?;
        Some(u32::from_be_bytes(number))
    }

    /// Whether the log is too short for what SQLite knows to be in it.
    fn lacks_frames(&self) -> bool {
        let mut keeper = locked(&self.keeper);
        let Connection::Sqlite(conn) = &mut *keeper else { return false };
        let Ok(known) = sql_query("PRAGMA wal_checkpoint(NOOP)").get_result::<Log>(conn) else {
            return false;
        };
        let frames = u64::try_from(known.log).unwrap_or(0);
        let needed = if frames == 0 { 0 } else { LOG_HEADER + frames * self.frame };
        std::fs::metadata(&self.log).is_ok_and(|log| log.len() < needed)
    }
}

fn identity_of(found: &std::fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

fn metadata(path: &Path, gone: FileTrouble) -> Result<std::fs::Metadata, FileTrouble> {
    std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => gone,
        kind => FileTrouble::Hidden(kind),
    })
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
        assert_eq!(file.look(), Ok(()));
        (folder, path, file)
    }

    #[test]
    fn a_file_that_is_moved_away_and_back_is_missed_and_found() {
        let (_folder, path, file) = database();
        let away = format!("{path}.away");
        fs::rename(&path, &away).expect("moved");
        assert_eq!(file.look(), Err(FileTrouble::Gone));
        assert!(file.connect(Duration::ZERO).is_err());
        assert!(!Path::new(&path).exists(), "nobody made another");
        fs::copy(&away, &path).expect("copied");
        assert_eq!(file.look(), Err(FileTrouble::Replaced));
        fs::rename(&away, &path).expect("moved back");
        assert_eq!(file.look(), Ok(()));
        assert!(file.connect(Duration::ZERO).is_ok());
    }

    #[test]
    fn the_log_belongs_to_it() {
        let (_folder, path, file) = database();
        let (log, away) = (format!("{path}-wal"), format!("{path}-wal.away"));
        fs::rename(&log, &away).expect("moved");
        assert_eq!(file.look(), Err(FileTrouble::LogGone));
        fs::write(&log, "").expect("written");
        assert_eq!(file.look(), Err(FileTrouble::LogReplaced));
        fs::rename(&away, &log).expect("moved back");
        assert_eq!(file.look(), Ok(()));
    }

    #[test]
    fn a_log_may_become_shorter_once_all_of_it_is_in_the_database() {
        use diesel::connection::SimpleConnection as _;
        let (_folder, path, file) = database();
        let Ok(Connection::Sqlite(mut writer)) = file.connect(Duration::ZERO) else { panic!("a connection") };
        let mut write = |statement| writer.batch_execute(statement).expect("written");
        write("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (randomblob(100000))");
        assert_eq!(file.look(), Ok(()));
        write("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(file.look(), Ok(()));
        write("INSERT INTO filler VALUES (randomblob(100000))");
        assert_eq!(file.look(), Ok(()));
        let log = fs::OpenOptions::new().write(true).open(format!("{path}-wal")).expect("opened");
        log.set_len(50_000).expect("truncated");
        assert_eq!(file.look(), Err(FileTrouble::LogTruncated));
    }

    #[test]
    fn a_log_that_was_cut_off_and_written_on_is_found_out() {
        use diesel::connection::SimpleConnection as _;
        let (_folder, path, file) = database();
        let Ok(Connection::Sqlite(mut writer)) = file.connect(Duration::ZERO) else { panic!("a connection") };
        let mut write = |statement| writer.batch_execute(statement).expect("written");
        write("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (randomblob(100000))");
        for _ in 0..3 {
            write("INSERT INTO filler VALUES (zeroblob(50000)); DELETE FROM filler");
            assert_eq!(file.look(), Ok(()));
        }
        let log = fs::OpenOptions::new().write(true).open(format!("{path}-wal")).expect("opened");
        log.set_len(0).expect("truncated");
        // What happens before the next look.
        write("INSERT INTO filler VALUES (randomblob(50000))");
        assert_eq!(file.look(), Err(FileTrouble::LogTruncated));
        write("INSERT INTO filler VALUES (randomblob(50000))");
        assert_eq!(file.look(), Err(FileTrouble::LogTruncated));
    }

    #[test]
    fn a_log_that_ends_with_zeros_when_it_is_opened_is_none_that_was_cut_off() {
        use diesel::connection::SimpleConnection as _;
        let (_folder, path, first) = database();
        let Ok(Connection::Sqlite(mut writer)) = first.connect(Duration::ZERO) else {
            panic!("a connection")
        };
        writer.batch_execute("CREATE TABLE filler (bytes BLOB)").expect("written");
        let log = fs::OpenOptions::new().write(true).open(format!("{path}-wal")).expect("opened");
        log.set_len(100_000).expect("made longer");
        let file = DatabaseFile::open(&path).expect("opened");
        for _ in 0..5 {
            writer.batch_execute("INSERT INTO filler VALUES (randomblob(50000))").expect("written");
            assert_eq!(file.look(), Ok(()));
        }
        log.set_len(0).expect("truncated");
        writer.batch_execute("INSERT INTO filler VALUES (randomblob(50000))").expect("written");
        assert_eq!(file.look(), Err(FileTrouble::LogTruncated));
    }

    #[test]
    fn what_other_processes_are_told_by_belongs_to_it() {
        let (_folder, path, file) = database();
        let (index, away) = (format!("{path}-shm"), format!("{path}-shm.away"));
        fs::rename(&index, &away).expect("moved");
        assert_eq!(file.look(), Err(FileTrouble::IndexGone));
        fs::write(&index, "").expect("written");
        assert_eq!(file.look(), Err(FileTrouble::IndexGone));
        fs::rename(&away, &index).expect("moved back");
        assert_eq!(file.look(), Ok(()));
    }

    #[test]
    fn what_was_truncated_stays_so_and_what_is_read_only_does_not() {
        let (_folder, path, file) = database();
        let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
        set_mode(0o400);
        assert_eq!(file.look(), Err(FileTrouble::ReadOnly));
        set_mode(0o600);
        assert_eq!(file.look(), Ok(()));
        let length = fs::metadata(&path).expect("there").len();
        let opened = fs::OpenOptions::new().write(true).open(&path).expect("opened");
        opened.set_len(length - 1).expect("truncated");
        assert_eq!(file.look(), Err(FileTrouble::Truncated));
        opened.set_len(length).expect("made longer");
        assert_eq!(file.look(), Err(FileTrouble::Truncated));
    }

    #[test]
    fn a_link_that_points_elsewhere_is_another_file() {
        let (folder, path, _file) = database();
        let link = folder.path().join("link").display().to_string();
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        let file = DatabaseFile::open(&link).expect("opened");
        fs::remove_file(&link).expect("removed");
        assert_eq!(file.look(), Err(FileTrouble::Gone));
        let other = format!("{path}.other");
        fs::write(&other, "").expect("written");
        std::os::unix::fs::symlink(&other, &link).expect("linked");
        assert_eq!(file.look(), Err(FileTrouble::Replaced));
    }
}
