//! The custody of a connection: who may use it, and whether it may be used again.

use std::{sync::Arc, time::Duration};

use diesel::{
    QueryableByName, RunQueryDsl as _, SqliteConnection, connection::SimpleConnection as _, sql_query,
    sql_types::Integer,
};
use tokio::time::{error::Elapsed, timeout};

use crate::{
    connection::Connection,
    error::Fault,
    postgres::{pool::Pool, session::GivenUp},
    settings::Times,
    sqlite::file::DatabaseFile,
};

/// The origin of connections.
#[derive(Clone)]
pub(crate) enum Origin {
    /// An embedded database.
    Sqlite(Arc<DatabaseFile>, Times),
    /// A pool of connections to a server.
    Postgres(Arc<Pool>),
}

impl Origin {
    /// The limits of time.
    pub(crate) fn times(&self) -> Times {
        match self {
            Self::Sqlite(_, times) => *times,
            Self::Postgres(pool) => pool.times(),
        }
    }

    /// Checks that the file of an embedded database is still where it was opened. A server reports by itself
    /// that it is gone.
    pub(crate) fn require_in_place(&self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(file, _) => file.require_in_place().map_err(Fault::Lost),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Like [`Self::require_in_place`], after a commit; fails also if the embedded database has lost something of it.
    pub(crate) fn require_intact(&self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(file, _) => file.require_intact().map_err(Fault::Lost),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Limits the time of work on a server. Work on a file waits for nothing but the disk, which cannot be
    /// interrupted.
    pub(crate) async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        match self {
            Self::Sqlite(..) => Ok(work.await),
            Self::Postgres(_) => timeout(time, work).await,
        }
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        match self {
            Self::Sqlite(file, times) => file.connect(times.lock),
            Self::Postgres(pool) => Ok(Connection::Postgres(Box::new(pool.get().await?))),
        }
    }

    /// A new connection.
    pub(crate) async fn connect_anew(&self) -> Result<Connection, Fault> {
        match self {
            Self::Sqlite(..) => self.connect().await,
            Self::Postgres(pool) => Ok(Connection::Postgres(Box::new(pool.fresh().await?))),
        }
    }
}

/// A connection in use. It is used again only if its user has said that it is in order, with
/// [`Custody::done`] or [`Custody::undo`]. A connection that was left in the middle of work, for instance by
/// a panic, is closed.
pub(crate) struct Custody {
    conn: Option<Connection>,
    in_use: bool,
    /// Whether the disk was full at the last attempt to write.
    lacks_room: bool,
    /// Whether the log says already that no room can be made.
    was_told: bool,
}

/// How many pages of the write-ahead log are copied at a time on a disk that was full: two MiB.
const SHORT_LOG: i32 = 500;
/// How long a rollback may take.
const ROLLBACK: Duration = Duration::from_secs(1);

impl Custody {
    /// No connection yet; the first use makes one.
    pub(crate) const fn none() -> Self {
        Self { conn: None, in_use: false, lacks_room: false, was_told: false }
    }

    /// The connection; a new one if there is none or the last one was left in disorder.
    pub(crate) async fn connection(&mut self, origin: &Origin) -> Result<&mut Connection, Fault> {
        if self.in_use {
            self.discard(&Fault::Abandoned);
        }
        origin.require_in_place()?;
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => origin.connect().await?,
        };
        self.in_use = true;
        Ok(self.conn.insert(conn))
    }

    /// The connection, if a write may begin on it.
    pub(crate) async fn connection_to_write(&mut self, origin: &Origin) -> Result<&mut Connection, Fault> {
        self.connection(origin).await?;
        if let (Origin::Postgres(pool), Some(Connection::Postgres(session))) = (origin, &mut self.conn)
            && let Err(fault) = pool.admit_write(session).await
        {
            match fault {
                Fault::AwaitsStandby => self.done(),
                _ => self.discard(&fault),
            }
            return Err(fault);
        }
        self.conn.as_mut().ok_or(Fault::Abandoned)
    }

    /// The connection that is held, whether or not it is in use.
    pub(crate) const fn held(&mut self) -> Option<&mut Connection> {
        self.conn.as_mut()
    }

    /// Takes over a connection that was made elsewhere.
    pub(crate) fn take_over(&mut self, conn: Connection) {
        self.in_use = true;
        self.conn = Some(conn);
    }

    /// Gives up a connection whose `COMMIT` was not answered. On a server its transaction may still run, so
    /// it is not ended here: [`crate::transaction::commit_outcome`] asks first.
    pub(crate) fn give_up(&mut self) -> GivenUp {
        self.in_use = false;
        match self.conn.take() {
            Some(Connection::Postgres(session)) => session.give_up(),
            _ => GivenUp::default(),
        }
    }

    /// Notes that the connection is in order. A connection of a pool returns to the pool, where it is tested
    /// before its next use.
    pub(crate) fn done(&mut self) {
        self.in_use = false;
        if matches!(self.conn, Some(Connection::Postgres(_)))
            && let Some(Connection::Postgres(session)) = self.conn.take()
        {
            session.put_back();
        }
    }

    /// Rolls back work that met a `fault`, or that is not to be kept though nothing failed. The connection is used again
    /// only if the fault has nothing to do with it.
    pub(crate) async fn undo(&mut self, fault: Option<&Fault>) {
        let spares_the_connection = fault.is_none_or(Fault::spares_the_connection);
        let Some(conn) = &mut self.conn else { return };
        let is_over = match conn {
            // A file waits for nobody, and its threads have no timers. Closing would end a transaction too,
            // but a file that other connections share is better left tidily.
            Connection::Sqlite(_) => conn.rollback().await.is_ok(),
            Connection::Postgres(_) if spares_the_connection => {
                matches!(timeout(ROLLBACK, conn.rollback()).await, Ok(Ok(())))
            }
            Connection::Postgres(_) => false,
        };
        if is_over && spares_the_connection {
            return self.done();
        }
        self.discard(fault.unwrap_or(&Fault::Abandoned));
    }

    /// Makes room if the disk is full. The write-ahead log of an embedded database may be many times as long
    /// as its content, and is copied and truncated.
    pub(crate) async fn make_room_after(&mut self, fault: &Fault, origin: &Origin) {
        if fault.is_for_want_of_room() {
            self.lacks_room = true;
            self.make_room(origin).await;
        }
    }

    /// Makes room if the disk was full at the last attempt, before anything else is written: the free space
    /// is needed for copying the log.
    pub(crate) async fn make_room(&mut self, origin: &Origin) {
        if !self.lacks_room {
            return;
        }
        let Ok(Connection::Sqlite(conn)) = self.connection(origin).await else { return };
        match cut_off_log(conn) {
            Ok(()) => {
                tracing::warn!("the disk is full; the write-ahead log was copied and cut off");
                (self.lacks_room, self.was_told) = (false, false);
                self.done();
            }
            Err(error) => {
                // Once: the disk may hold the log of the process too.
                if !std::mem::replace(&mut self.was_told, true) {
                    tracing::error!(%error, "the disk is full, and the write-ahead log cannot be copied");
                }
                self.undo(None).await;
            }
        }
    }

    /// Closes the connection, whatever its state.
    pub(crate) fn discard(&mut self, fault: &Fault) {
        self.in_use = false;
        match self.conn.take() {
            Some(Connection::Postgres(session)) => session.abandon(fault),
            other => drop(other),
        }
    }
}

/// The answer of SQLite to a checkpoint, as far as it matters here.
#[derive(QueryableByName)]
struct Checkpoint {
    /// Not 0 if it was not completed.
    #[diesel(sql_type = Integer)]
    busy: i32,
}

/// Copies the write-ahead log into the database and cuts it off. As long as the connection lives the log stays short,
/// which is slower, and leaves room for what it says.
pub(super) fn cut_off_log(conn: &mut SqliteConnection) -> Result<(), String> {
    let checkpoint = sql_query("PRAGMA wal_checkpoint(TRUNCATE)").get_result::<Checkpoint>(conn);
    if checkpoint.map_err(|error| error.to_string())?.busy != 0 {
        return Err("somebody still reads an older state of the database".to_owned());
    }
    let short = format!("PRAGMA wal_autocheckpoint = {SHORT_LOG}");
    conn.batch_execute(&short).map_err(|error| error.to_string())
}

impl Drop for Custody {
    fn drop(&mut self) {
        if self.in_use {
            self.discard(&Fault::Abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::StoreSettings;

    #[tokio::test]
    async fn a_log_that_somebody_reads_is_cut_off_once_they_have_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("quipu.db").display().to_string();
        std::fs::write(&path, "").expect("an empty database");
        let file = Arc::new(DatabaseFile::open(&path).expect("opened"));
        let settings = StoreSettings {
            lock: Duration::from_millis(1),
            ..StoreSettings::new(format!("sqlite://{path}"))
        };
        let origin = Origin::Sqlite(Arc::clone(&file), settings.times());
        let (mut reader, mut custody) = (sqlite(file.connect(Duration::ZERO)), Custody::none());
        let mut writer = sqlite(file.connect(Duration::ZERO));
        writer.batch_execute("CREATE TABLE one (a INTEGER)").expect("made");
        reader.batch_execute("BEGIN; SELECT * FROM one").expect("read");
        writer.batch_execute("INSERT INTO one VALUES (1)").expect("written");
        let length = || std::fs::metadata(format!("{path}-wal")).expect("there").len();
        custody.lacks_room = true;
        custody.make_room(&origin).await;
        assert!(custody.lacks_room && length() > 0);
        reader.batch_execute("COMMIT").expect("read to the end");
        custody.make_room(&origin).await;
        assert!(!custody.lacks_room && length() == 0);
    }

    fn sqlite(conn: Result<Connection, Fault>) -> SqliteConnection {
        match conn {
            Ok(Connection::Sqlite(conn)) => conn,
            _ => panic!("a file has connections of SQLite"),
        }
    }
}
