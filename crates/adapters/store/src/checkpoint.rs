//! Checkpoints of the embedded database, beside the lane and not in it.
//!
//! A checkpoint copies SQLite's write-ahead log into the database. SQLite makes one on the connection whose commit finds
//! the log too long, and whoever waits for the lane waits for the copy. Here a thread of its own copies as soon as it is
//! worth it, while the lane goes on. But the log begins anew only after a checkpoint that no commit overtakes, so the
//! lane still makes one itself at the full length, and finds most of it copied.

use std::{io, sync::Arc, time::Duration};

use crossbeam_channel::{Receiver, Sender};
use diesel::{
    QueryResult, QueryableByName, RunQueryDsl as _, SqliteConnection, sql_query, sql_types::Integer,
};

use crate::{
    connection::{Connection, FULL_LOG},
    error::Fault,
    file::DatabaseFile,
};

/// How many pages that are not copied yet are worth a checkpoint. A page that changes often is copied once for each, so
/// there are two on the way to the full length, and the lane is left with little.
const WORTH: i32 = 7_000;

/// How long a checkpoint waits for whoever locks the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// After how many turns of the lane a look at the log is due.
const TURNS: u32 = 16;

/// The log: its pages, and how many of them are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
struct Log {
    #[diesel(sql_type = Integer)]
    log: i32,
    #[diesel(sql_type = Integer)]
    checkpointed: i32,
}

/// Starts the thread, which ends with the function that is given back. That one is to be called after every turn of the
/// lane.
pub(crate) fn start(file: Arc<DatabaseFile>) -> io::Result<impl FnMut() + Send> {
    let (due, looks): (Sender<()>, _) = crossbeam_channel::bounded(1);
    let thread = std::thread::Builder::new().name("quipu-store-checkpoints".to_owned());
    thread.spawn(move || serve(&file, &looks))?;
    let mut turns = 0;
    Ok(move || {
        turns = (turns + 1) % TURNS;
        if turns == 0 {
            // A full channel has woken the thread already.
            let _woken = due.try_send(());
        }
    })
}

fn serve(file: &DatabaseFile, looks: &Receiver<()>) {
    let mut kept = None;
    while looks.recv().is_ok() {
        // Without checkpoints here the lane makes them all, so a failure is no reason to stop anything.
        if file.look().is_err() {
            continue;
        }
        let connected = kept.take().map_or_else(|| connect(file), Ok);
        match connected.and_then(|mut conn| Ok((copy(&mut conn)?, conn))) {
            Ok((_, conn)) => kept = Some(conn),
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

/// Copies what is in the log if there is enough of it; never waits for the lane, nor lets it wait.
fn copy(conn: &mut SqliteConnection) -> QueryResult<Log> {
    let found: Log = sql_query("PRAGMA wal_checkpoint(NOOP)").get_result(conn)?;
    // At full length it is the lane's turn, which nobody else may be in the way of.
    if found.log >= FULL_LOG || found.log - found.checkpointed < WORTH {
        return Ok(found);
    }
    sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result(conn)
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection as _;

    use super::*;

    /// A page or a little more for each row.
    fn write(conn: &mut SqliteConnection, rows: i32) {
        let row = "INSERT INTO filler SELECT randomblob(4000) FROM seq";
        let numbers =
            format!("WITH RECURSIVE seq(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seq WHERE n < {rows})");
        conn.batch_execute(&format!("{numbers} {row}")).expect("written");
    }

    #[test]
    fn the_log_is_copied_once_it_is_worth_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint.db").display().to_string();
        std::fs::write(&path, "").expect("an empty database");
        let file = DatabaseFile::open(&path).expect("opened");
        let (mut lane, mut beside) = (connect(&file).expect("opened"), connect(&file).expect("opened"));
        lane.batch_execute("CREATE TABLE filler (bytes BLOB)").expect("made");

        let short = copy(&mut beside).expect("looked at");
        assert!((1..WORTH).contains(&short.log));
        assert_eq!(short.checkpointed, 0);

        write(&mut lane, WORTH);
        let worth = copy(&mut beside).expect("copied");
        assert!((WORTH..FULL_LOG).contains(&worth.log));
        assert_eq!(worth.checkpointed, worth.log);

        write(&mut lane, 1);
        let anew = copy(&mut beside).expect("looked at");
        assert!(anew.log < WORTH, "the log began anew");
    }

    #[test]
    fn a_log_of_full_length_is_left_to_the_lane() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint.db").display().to_string();
        std::fs::write(&path, "").expect("an empty database");
        let file = DatabaseFile::open(&path).expect("opened");
        let (mut lane, mut beside) = (connect(&file).expect("opened"), connect(&file).expect("opened"));
        lane.batch_execute("CREATE TABLE filler (bytes BLOB); PRAGMA wal_autocheckpoint = 0").expect("made");
        write(&mut lane, FULL_LOG);
        let full = copy(&mut beside).expect("looked at");
        assert!(full.log >= FULL_LOG);
        assert_eq!(full.checkpointed, 0);
    }
}
