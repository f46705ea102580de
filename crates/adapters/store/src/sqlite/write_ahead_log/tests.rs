//! Tests that cut the log off at every moment that makes a difference.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use diesel::connection::SimpleConnection as _;

use super::*;
use crate::{connection::Connection, sqlite::file::DatabaseFile};

/// A database with a log.
struct Written {
    _folder: tempfile::TempDir,
    path: String,
    file: DatabaseFile,
    writer: Connection,
}

impl Written {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("quipu.db").display().to_string();
        fs::write(&path, "").expect("an empty database");
        let file = DatabaseFile::open(&path).expect("opened");
        let writer = file.connect(Duration::from_secs(2)).expect("a connection");
        let mut written = Self { _folder: folder, path, file, writer };
        written.write("CREATE TABLE filler (bytes BLOB)");
        written.add(25);
        assert_eq!(written.file.require_intact(), Ok(()));
        written
    }

    fn write(&mut self, statement: &str) {
        let Connection::Sqlite(writer) = &mut self.writer else { panic!("a file") };
        writer.batch_execute(statement).expect("written");
    }

    /// Commits this many pages and a few more.
    fn add(&mut self, pages: u32) {
        self.write(&format!("INSERT INTO filler VALUES (randomblob({pages} * 4096))"));
    }

    /// Makes the log start over with the next commit; its file keeps its length.
    fn begin_anew(&mut self) {
        self.write("PRAGMA wal_checkpoint(RESTART)");
    }

    /// The log, newly opened, before its first look.
    fn opened(&self) -> WriteAheadLog {
        WriteAheadLog::open(Path::new(&self.path), 4096).expect("opened")
    }

    fn log(&self) -> File {
        fs::OpenOptions::new().write(true).open(format!("{}-wal", self.path)).expect("opened")
    }

    fn length(&self) -> u64 {
        self.log().metadata().expect("there").len()
    }

    /// Makes a hole of `bytes` bytes that begins `back` bytes before `end`, as a cut does when writing goes
    /// on after it.
    fn make_hole(&self, end: u64, back: u64, bytes: u64) {
        let zeros = vec![0; usize::try_from(bytes).expect("short")];
        self.log().write_all_at(&zeros, end - back).expect("written");
    }

    /// Cuts this many bytes off.
    fn cut(&self, bytes: u64) {
        self.log().set_len(self.length() - bytes).expect("truncated");
    }
}

const FRAME: u64 = 4096 + 24;

#[test]
fn a_log_that_was_cut_off_is_found_out_before_it_is_written_on_and_after() {
    let all = u64::MAX;
    for bytes in [FRAME - 30, FRAME, 10 * FRAME, all] {
        for is_written_on in [false, true] {
            let mut on = Written::new();
            on.cut(bytes.min(on.length()));
            if is_written_on {
                on.add(25);
            }
            assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated), "{bytes} {is_written_on}");
            on.add(25);
            assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated), "{bytes} {is_written_on}");
        }
    }
}

/// The log is cut back to where it ended at the last look, so the frames written since are gone.
#[test]
fn a_log_that_was_cut_back_to_where_it_was_seen_to_end_is_found_out() {
    let mut on = Written::new();
    let seen = on.length();
    on.add(10);
    on.log().set_len(seen).expect("truncated");
    assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated));
    on.add(10);
    assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated));
}

/// The frames of a commit in progress are cut off, within the new frames.
#[test]
fn a_hole_among_new_frames_is_found_out() {
    for (back, length) in [(10 * FRAME, 5 * FRAME), (10 * FRAME, 100), (8 * FRAME - 24, 24)] {
        let mut on = Written::new();
        on.add(25);
        on.make_hole(on.length(), back, length);
        assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated), "{back} {length}");
    }
}

/// The same in a file that is longer than its log, whether or not the log has started over since the last
/// look.
#[test]
fn a_hole_among_new_frames_is_found_out_within_a_long_file() {
    for (is_new, has_hole) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut on = Written::new();
        on.add(200);
        let log = on.opened();
        if !is_new {
            on.begin_anew();
            on.add(3);
        }
        assert_eq!(log.require_intact(), Ok(()));
        if is_new {
            on.begin_anew();
        }
        on.add(25);
        let end = end_of(&log);
        assert!(end < on.length());
        on.cut(on.length() - end);
        if has_hole {
            on.make_hole(end, 10 * FRAME, 5 * FRAME);
        }
        let found = if has_hole { Err(FileTrouble::LogTruncated) } else { Ok(()) };
        assert_eq!(log.require_intact(), found, "{is_new}");
    }
}

/// A look comes while a commit is in progress, and the cut after it.
#[test]
fn a_hole_among_new_frames_is_found_out_though_they_were_in_the_file_at_the_look_before() {
    let mut on = Written::new();
    let log = on.opened();
    assert_eq!(log.require_intact(), Ok(()));
    on.log().set_len(on.length() + 40 * FRAME).expect("made longer");
    assert_eq!(log.require_intact(), Ok(()));
    on.add(25);
    let end = end_of(&log);
    assert!(end < on.length());
    on.make_hole(end, 10 * FRAME, 5 * FRAME);
    assert_eq!(log.require_intact(), Err(FileTrouble::LogTruncated));
}

#[test]
fn a_log_that_cannot_be_read_for_a_while_is_none_that_was_cut_off() {
    let mut on = Written::new();
    let mut log = on.opened();
    assert_eq!(log.require_intact(), Ok(()));
    on.add(10);
    let readable = std::mem::replace(&mut log.opened, on.log());
    assert!(matches!(log.require_intact(), Err(FileTrouble::Hidden(_))));
    log.opened = readable;
    assert_eq!(log.require_intact(), Ok(()));
}

/// Where the log ends in its file.
fn end_of(log: &WriteAheadLog) -> u64 {
    log.end_of(log.end().expect("read").expect("nobody writes").frames)
}

#[test]
fn a_log_may_begin_anew_and_become_shorter() {
    for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
        let mut on = Written::new();
        for pages in [25, 200, 3, 40] {
            let mut shell = Connection::open_sqlite(&on.path, Duration::from_secs(2)).expect("opened");
            let Connection::Sqlite(shell) = &mut shell else { panic!("a file") };
            shell.batch_execute(&format!("PRAGMA wal_checkpoint({mode})")).expect("copied");
            assert_eq!(on.file.require_intact(), Ok(()), "{mode}");
            on.add(pages);
            assert_eq!(on.file.require_intact(), Ok(()), "{mode}");
            on.write("BEGIN; DELETE FROM filler; ROLLBACK");
            assert_eq!(on.file.require_intact(), Ok(()), "{mode}");
        }
        if mode == "TRUNCATE" {
            on.cut(FRAME);
            assert_eq!(on.file.require_intact(), Err(FileTrouble::LogTruncated));
        }
    }
}

/// A transaction that does not fit into memory writes the same pages several times.
#[test]
fn a_long_transaction_is_whole() {
    let mut on = Written::new();
    on.write("PRAGMA cache_size = 10; BEGIN");
    for _ in 0..5 {
        on.add(100);
        on.write("UPDATE filler SET bytes = randomblob(length(bytes))");
    }
    on.write("COMMIT");
    assert_eq!(on.file.require_intact(), Ok(()));
}

#[test]
fn looks_while_others_write_and_checkpoint_find_nothing_wrong() {
    let mut on = Written::new();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (file, path, is_over) = (&on.file, on.path.as_str(), &is_over);
        let look = move || {
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(file.require_intact(), Ok(()));
            }
        };
        let looks = [scope.spawn(look), scope.spawn(look)];
        let mut shell = Connection::open_sqlite(path, Duration::from_secs(2)).expect("opened");
        for turn in 0..200 {
            let Connection::Sqlite(writer) = &mut on.writer else { panic!("a file") };
            writer.batch_execute("INSERT INTO filler VALUES (randomblob(9000))").expect("written");
            let Connection::Sqlite(shell) = &mut shell else { panic!("a file") };
            if turn % 5 == 0 {
                shell.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").expect("copied");
            }
            let is_whole = file.require_intact();
            if is_whole.is_err() || turn == 199 {
                is_over.store(true, Ordering::Relaxed);
            }
            assert_eq!(is_whole, Ok(()));
        }
        for look in looks {
            look.join().expect("nothing wrong");
        }
    });
}

#[test]
fn a_log_that_ends_with_zeros_when_it_is_opened_is_none_that_was_cut_off() {
    let mut on = Written::new();
    on.log().set_len(on.length() + 100_000).expect("made longer");
    let file = DatabaseFile::open(&on.path).expect("opened");
    for _ in 0..5 {
        on.add(12);
        assert_eq!(file.require_intact(), Ok(()));
    }
    on.log().set_len(0).expect("truncated");
    on.add(12);
    assert_eq!(file.require_intact(), Err(FileTrouble::LogTruncated));
}
