//! The write-ahead log of an embedded database, as others see it.
//!
//! A log that is cut off while it is written to is soon as long as before, with a hole in it, and SQLite reads past the hole for
//! as long as it has the log open; whoever opens it next finds nothing behind. A cut takes the last frame of its time, whole or in
//! part. So the log must reach as far as SQLite's index tells, and where it has grown since the look before, the frame that was the
//! last one then is read again. Each frame ends a sum over all frames before it. A look at the log is five calls of the system, and
//! two more where it has grown.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    file_identity::{Identity, identity_of, metadata},
    file_trouble::FileTrouble,
    lock::locked,
};

/// What stands before the frames.
const LOG_HEADER: u64 = 32;
/// What stands before the page in each frame.
const FRAME_HEADER: usize = 24;
/// Where in the header of a frame the sum stands, up to its end.
const SUM_AT: usize = 16;
const SUM: usize = 8;
/// How often a look begins again because the log did meanwhile. Whoever writes looks when it is done.
const TRIES: u32 = 3;

/// A sum over the log up to some frame.
type Sum = (u32, u32);
/// Tells the frames of the log from older ones: it is another one each time that the log begins anew.
type Salt = [u8; 8];

/// The log and its index, which were there when this was made.
pub(crate) struct WriteAheadLog {
    path: PathBuf,
    identity: Identity,
    opened: File,
    /// What processes that share the database tell each other: where the log ends, and who locks what.
    index: PathBuf,
    index_identity: Identity,
    /// Never closed: SQLite's locks on a file belong to the process, and go when it closes the file anywhere.
    opened_index: &'static File,
    /// The bytes of a frame: its header and a page of the database.
    frame: usize,
    /// Up to where the log was seen whole.
    seen: Mutex<End>,
    is_truncated: AtomicBool,
}

/// Where the log ends, as its index tells.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct End {
    salt: Salt,
    frames: u64,
}

impl WriteAheadLog {
    /// Opens the log beside a database with pages of so many bytes.
    pub(crate) fn open(database: &Path, page: usize) -> io::Result<Self> {
        let beside = |what: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(what);
            PathBuf::from(name)
        };
        let (path, index) = (beside("-wal"), beside("-shm"));
        let opened = File::open(&path)?;
        let opened_index: &'static File = Box::leak(Box::new(File::open(&index)?));
        Ok(Self {
            identity: identity_of(&opened.metadata()?),
            index_identity: identity_of(&opened_index.metadata()?),
            path,
            opened,
            index,
            opened_index,
            frame: FRAME_HEADER + page,
            seen: Mutex::default(),
            is_truncated: AtomicBool::new(false),
        })
    }

    /// Whether the files are still the ones that were opened, and all that is in the log is still there.
    pub(crate) fn look(&self) -> Result<(), FileTrouble> {
        if identity_of(&metadata(&self.path, FileTrouble::LogGone)?) != self.identity {
            return Err(FileTrouble::LogReplaced);
        }
        if identity_of(&metadata(&self.index, FileTrouble::IndexGone)?) != self.index_identity {
            return Err(FileTrouble::IndexGone);
        }
        if !self.is_truncated.load(Ordering::Relaxed) && !self.is_whole() {
            // It may grow again, but what was in it will not come back.
            self.is_truncated.store(true, Ordering::Relaxed);
        }
        if self.is_truncated.load(Ordering::Relaxed) { Err(FileTrouble::LogTruncated) } else { Ok(()) }
    }

    fn is_whole(&self) -> bool {
        let mut seen = locked(&self.seen);
        let mut end = self.end();
        for _ in 0..TRIES {
            let Some(now) = end else { return true };
            if self.reaches(&now, &mut seen) {
                return true;
            }
            // SQLite says that the log begins anew before it writes over what was in it, or cuts it off.
            end = self.end();
            if end == Some(now) {
                return false;
            }
        }
        true
    }

    /// Whether the log reaches that far, without a hole where it ended before.
    fn reaches(&self, end: &End, seen: &mut End) -> bool {
        if end.frames == 0 {
            return true;
        }
        if !self.opened.metadata().is_ok_and(|log| log.len() >= self.end_of(end.frames)) {
            return false;
        }
        let has_grown = seen.salt == end.salt && seen.frames > 0 && seen.frames < end.frames;
        if has_grown && !self.has_whole(seen) {
            return false;
        }
        *seen = *end;
        true
    }

    /// Where so many frames end.
    const fn end_of(&self, frames: u64) -> u64 {
        LOG_HEADER + frames * self.frame as u64
    }

    /// Whether the last of so many frames is the one that was written.
    fn has_whole(&self, end: &End) -> bool {
        let at = self.end_of(end.frames - 1);
        // The sum up to the frame before, or over what stands before all frames.
        let before = if end.frames == 1 { at - SUM as u64 } else { at - self.frame as u64 + SUM_AT as u64 };
        let (mut sum, mut frame) = ([0; SUM], vec![0; self.frame]);
        let read = self.opened.read_exact_at(&mut sum, before);
        if read.and_then(|()| self.opened.read_exact_at(&mut frame, at)).is_err() {
            return false;
        }
        let (header, page) = frame.split_at(FRAME_HEADER);
        let sum = summed(summed(sum_in(&sum), &header[..8]), page);
        header[8..SUM_AT] == end.salt && sum == sum_in(&header[SUM_AT..])
    }

    /// Where the log ends; none while somebody is writing that down. SQLite writes it twice, so that this can be told.
    fn end(&self) -> Option<End> {
        let mut index = [0; 96];
        self.opened_index.read_exact_at(&mut index, 0).ok()?;
        let (first, second) = index.split_at(48);
        let is_made = first[12] == 1;
        if first != second || !is_made {
            return None;
        }
        let mut salt = Salt::default();
        salt.copy_from_slice(&first[32..40]);
        Some(End { salt, frames: native(&first[16..20]).into() })
    }
}

/// A sum, continued over some pairs of numbers.
fn summed((mut one, mut other): Sum, bytes: &[u8]) -> Sum {
    for pair in bytes.chunks_exact(8) {
        one = one.wrapping_add(native(&pair[..4])).wrapping_add(other);
        other = other.wrapping_add(native(&pair[4..])).wrapping_add(one);
    }
    (one, other)
}

fn native(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

/// A sum as it is written.
fn sum_in(bytes: &[u8]) -> Sum {
    let big = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
    (big(&bytes[..4]), big(&bytes[4..]))
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use diesel::connection::SimpleConnection as _;

    use super::*;
    use crate::{connection::Connection, file::DatabaseFile};

    /// A database that is written to.
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
            assert_eq!(written.file.look(), Ok(()));
            written
        }

        fn write(&mut self, statement: &str) {
            let Connection::Sqlite(writer) = &mut self.writer else { panic!("a file") };
            writer.batch_execute(statement).expect("written");
        }

        /// Commits so many pages and a few more.
        fn add(&mut self, pages: u32) {
            self.write(&format!("INSERT INTO filler VALUES (randomblob({pages} * 4096))"));
        }

        fn log(&self) -> File {
            fs::OpenOptions::new().write(true).open(format!("{}-wal", self.path)).expect("opened")
        }

        fn length(&self) -> u64 {
            self.log().metadata().expect("there").len()
        }

        /// Cuts so many bytes off.
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
                assert_eq!(on.file.look(), Err(FileTrouble::LogTruncated), "{bytes} {is_written_on}");
                on.add(25);
                assert_eq!(on.file.look(), Err(FileTrouble::LogTruncated), "{bytes} {is_written_on}");
            }
        }
    }

    /// The log ends where it ended at the last look, and what was written since is gone.
    #[test]
    fn a_log_that_was_cut_back_to_where_it_was_seen_to_end_is_found_out() {
        let mut on = Written::new();
        let seen = on.length();
        on.add(10);
        on.log().set_len(seen).expect("truncated");
        assert_eq!(on.file.look(), Err(FileTrouble::LogTruncated));
        on.add(10);
        assert_eq!(on.file.look(), Err(FileTrouble::LogTruncated));
    }

    #[test]
    fn a_log_may_begin_anew_and_become_shorter() {
        for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
            let mut on = Written::new();
            for pages in [25, 200, 3, 40] {
                let mut shell = Connection::open_sqlite(&on.path, Duration::from_secs(2)).expect("opened");
                let Connection::Sqlite(shell) = &mut shell else { panic!("a file") };
                shell.batch_execute(&format!("PRAGMA wal_checkpoint({mode})")).expect("copied");
                assert_eq!(on.file.look(), Ok(()), "{mode}");
                on.add(pages);
                assert_eq!(on.file.look(), Ok(()), "{mode}");
                on.write("BEGIN; DELETE FROM filler; ROLLBACK");
                assert_eq!(on.file.look(), Ok(()), "{mode}");
            }
            if mode == "TRUNCATE" {
                on.cut(FRAME);
                assert_eq!(on.file.look(), Err(FileTrouble::LogTruncated));
            }
        }
    }

    /// A transaction that does not fit into memory writes the same pages again and again.
    #[test]
    fn a_long_transaction_is_whole() {
        let mut on = Written::new();
        on.write("PRAGMA cache_size = 10; BEGIN");
        for _ in 0..5 {
            on.add(100);
            on.write("UPDATE filler SET bytes = randomblob(length(bytes))");
        }
        on.write("COMMIT");
        assert_eq!(on.file.look(), Ok(()));
    }

    #[test]
    fn looks_while_others_write_and_checkpoint_find_nothing_wrong() {
        let mut on = Written::new();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (file, path, is_over) = (&on.file, on.path.as_str(), &is_over);
            let look = move || {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(file.look(), Ok(()));
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
                let is_whole = file.look();
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
            assert_eq!(file.look(), Ok(()));
        }
        on.log().set_len(0).expect("truncated");
        on.add(12);
        assert_eq!(file.look(), Err(FileTrouble::LogTruncated));
    }
}
