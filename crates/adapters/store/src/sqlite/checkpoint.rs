//! Checkpoints of the embedded database, beside the lane and not in it.
//!
//! A checkpoint copies SQLite's write-ahead log into the database. SQLite makes one on the connection whose
//! commit finds the log too long, and all callers of the lane wait for the copy. Here a thread of its own
//! copies while the lane goes on. But the log starts again only after a checkpoint during which no commit
//! came, so the lane still makes one itself at the full length. All callers wait for that one, so this thread
//! leaves little to it: the longer the log, the more often it copies, and it flushes what it copied. SQLite
//! itself does not flush a copy during which a commit came, and would leave all those pages for the disk to
//! write while the lane waits.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use diesel::{
    QueryResult, QueryableByName, RunQueryDsl as _, SqliteConnection, sql_query, sql_types::Integer,
};

use crate::{
    connection::{Connection, FULL_LOG},
    error::Fault,
    sqlite::file::DatabaseFile,
};

/// The least number of uncopied pages for which a checkpoint is made. A page that changes often is copied in
/// each, so a short log has few. The rest is left to the lane's own checkpoint.
const WORTH: i32 = 300;

/// How long a checkpoint waits for a lock of another process on the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause after a look at the log, if the lane has written since.
const PAUSE: Duration = Duration::from_millis(25);

/// The pause while the log is long.
const SHORT_PAUSE: Duration = Duration::from_millis(2);

/// The state of the log: the number of its pages, and of those that are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
struct Log {
    #[diesel(sql_type = Integer)]
    log: i32,
    #[diesel(sql_type = Integer)]
    checkpointed: i32,
}

impl Log {
    /// Whether the uncopied part is as long as the room that the log has left: this is so at half of its full
    /// length, then at three quarters, and so on. At full length the lane makes the checkpoint itself and
    /// must not be disturbed.
    fn is_worth_copying(self) -> bool {
        let room = FULL_LOG - self.log;
        room > 0 && self.log - self.checkpointed >= room.max(WORTH)
    }

    /// Whether the next copy will be needed soon: the log is longer than half of its full length.
    fn is_long(self) -> bool {
        self.log >= FULL_LOG / 2
    }
}

/// Starts the thread and returns a function that is to be called after every turn of the lane. The thread
/// ends when the function is dropped.
pub(crate) fn start(file: Arc<DatabaseFile>) -> io::Result<impl FnMut() + Send> {
    let (due, looks): (Sender<()>, _) = crossbeam_channel::bounded(1);
    let thread = std::thread::Builder::new().name("quipu-store-checkpoints".to_owned());
    // Never closed: SQLite's locks on a file belong to the process, and go when it closes the file anywhere.
    let opened: &'static File = Box::leak(Box::new(File::open(file.path())?));
    let is_long = Arc::new(AtomicBool::new(false));
    let is_long_now = Arc::clone(&is_long);
    thread.spawn(move || serve(&file, opened, &looks, &is_long_now))?;
    let mut looked = Instant::now();
    Ok(move || {
        let pause = if is_long.load(Ordering::Relaxed) { SHORT_PAUSE } else { PAUSE };
        if looked.elapsed() >= pause {
            looked = Instant::now();
            // A full channel has woken the thread already.
            let _woken = due.try_send(());
        }
    })
}

fn serve(file: &DatabaseFile, opened: &File, looks: &Receiver<()>, is_long: &AtomicBool) {
    let mut kept = None;
    while looks.recv().is_ok() {
        // Without checkpoints here the lane makes them all, so a failure is no reason to stop anything.
        if file.require_in_place().is_err() {
            continue;
        }
        let connected = kept.take().map_or_else(|| connect(file), Ok);
        match connected.and_then(|mut conn| Ok((copy(&mut conn, opened)?, conn))) {
            Ok((log, conn)) => {
                is_long.store(log.is_long(), Ordering::Relaxed);
                kept = Some(conn);
            }
            Err(fault) => tracing::warn!(%fault, "a checkpoint failed"),
        }
    }
}

fn connect(file: &DatabaseFile) -> Result<SqliteConnection, Fault> {
    match file.connect(PATIENCE) {
        Ok(Connection::Sqlite(conn)) => Ok(conn),
        Ok(Connection::Postgres(_)) => Err(Fault::Abandoned),
        Err(fault) => Err(fault),
    }
}

/// Copies the log if it is long enough. Neither this thread nor the lane waits for the other.
fn copy(conn: &mut SqliteConnection, opened: &File) -> QueryResult<Log> {
    let found: Log = sql_query("PRAGMA wal_checkpoint(NOOP)").get_result(conn)?;
    if !found.is_worth_copying() {
        return Ok(found);
    }
    let copied = sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result(conn)?;
    // SQLite flushes it again before the log starts again, and hears of a failure then.
    if let Err(error) = opened.sync_data() {
        tracing::warn!(%error, "what a checkpoint copied was not flushed");
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection as _;

    use super::*;

    /// Writes rows that each fill a page or a little more.
    fn write(conn: &mut SqliteConnection, rows: i32) {
        let row = "INSERT INTO filler SELECT randomblob(4000) FROM seq";
        let numbers =
            format!("WITH RECURSIVE seq(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seq WHERE n < {rows})");
        conn.batch_execute(&format!("{numbers} {row}")).expect("written");
    }

    struct Opened {
        _folder: tempfile::TempDir,
        bare: File,
        lane: SqliteConnection,
        beside: SqliteConnection,
    }

    fn database() -> Opened {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint.db").display().to_string();
        std::fs::write(&path, "").expect("an empty database");
        let file = DatabaseFile::open(&path).expect("opened");
        let (mut lane, beside) = (connect(&file).expect("opened"), connect(&file).expect("opened"));
        lane.batch_execute("CREATE TABLE filler (bytes BLOB); PRAGMA wal_autocheckpoint = 0").expect("made");
        Opened { _folder: folder, bare: File::open(&path).expect("opened"), lane, beside }
    }

    #[test]
    fn a_log_is_worth_copying_more_often_the_longer_it_is() {
        let (mut on, mut copies) = (Log { log: 0, checkpointed: 0 }, vec![0]);
        while on.log < FULL_LOG {
            on.log += 100;
            if on.is_worth_copying() {
                on.checkpointed = on.log;
                copies.push(on.log);
            }
        }
        assert_eq!(copies[..4], [0, FULL_LOG / 2, FULL_LOG / 4 * 3, FULL_LOG / 8 * 7]);
        assert!(FULL_LOG - on.checkpointed <= WORTH, "{copies:?}");
        assert!(copies.windows(2).all(|pair| pair[1] - pair[0] >= WORTH), "{copies:?}");
    }

    #[test]
    fn a_log_that_was_copied_whole_begins_anew() {
        let mut on = database();
        write(&mut on.lane, FULL_LOG / 2);
        let copied = copy(&mut on.beside, &on.bare).expect("copied");
        assert_eq!(copied.checkpointed, copied.log);
        write(&mut on.lane, 1);
        let anew = copy(&mut on.beside, &on.bare).expect("looked at");
        assert!(anew.log < WORTH, "{anew:?}");
    }

    #[test]
    fn a_log_of_full_length_is_left_to_the_lane() {
        let mut on = database();
        write(&mut on.lane, FULL_LOG);
        let full = copy(&mut on.beside, &on.bare).expect("looked at");
        assert!(full.log >= FULL_LOG);
        assert_eq!(full.checkpointed, 0);
    }
}
