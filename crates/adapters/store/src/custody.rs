//! Who may use a connection, and what becomes of it afterwards.

use std::{sync::Arc, time::Duration};

use diesel::connection::SimpleConnection as _;
use tokio::time::{error::Elapsed, timeout};

use crate::{
    connection::Connection, error::Fault, file::DatabaseFile, pool::Pool, session::GivenUp, settings::Times,
};

/// Where connections come from.
#[derive(Clone)]
pub(crate) enum Origin {
    /// An embedded database.
    Sqlite(Arc<DatabaseFile>, Times),
    /// A pool of connections to a server.
    Postgres(Arc<Pool>),
}

impl Origin {
    /// How long things may take.
    pub(crate) fn times(&self) -> Times {
        match self {
            Self::Sqlite(_, times) => *times,
            Self::Postgres(pool) => pool.times(),
        }
    }

    /// Whether an embedded database is still where it was opened. A server tells by itself that it has gone.
    pub(crate) fn look(&self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(file, _) => file.look().map_err(Fault::Lost),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Bounds what is done on a server. What is done in a file waits for nothing but the disk, which nobody can interrupt.
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

    /// A connection that nobody has used before.
    pub(crate) async fn connect_anew(&self) -> Result<Connection, Fault> {
        match self {
            Self::Sqlite(..) => self.connect().await,
            Self::Postgres(pool) => Ok(Connection::Postgres(Box::new(pool.fresh().await?))),
        }
    }
}

/// A connection in somebody's hands. It is used again only if whoever had it said that it is in order, with
/// [`Custody::done`] or [`Custody::undo`]; one that was left in the middle of something, by a panic for one, is closed.
pub(crate) struct Custody {
    conn: Option<Connection>,
    in_use: bool,
    /// Whether the disk was full at last.
    lacks_room: bool,
}

/// How many pages of the write-ahead log are copied at once on a disk that was full: two MiB.
const SHORT_LOG: i32 = 500;
/// How long a rollback may take.
const ROLLBACK: Duration = Duration::from_secs(1);

impl Custody {
    /// No connection yet; the first use makes one.
    pub(crate) const fn none() -> Self {
        Self { conn: None, in_use: false, lacks_room: false }
    }

    /// The connection, a new one where there is none or the last one was left in disorder.
    pub(crate) async fn connection(&mut self, origin: &Origin) -> Result<&mut Connection, Fault> {
        if self.in_use {
            self.discard(&Fault::Abandoned);
        }
        origin.look()?;
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => origin.connect().await?,
        };
        self.in_use = true;
        Ok(self.conn.insert(conn))
    }

    /// The connection, if somebody is using it.
    pub(crate) const fn taken(&mut self) -> Option<&mut Connection> {
        self.conn.as_mut()
    }

    /// Holds a connection that was made elsewhere.
    pub(crate) fn take_over(&mut self, conn: Connection) {
        self.in_use = true;
        self.conn = Some(conn);
    }

    /// Lets go of a connection whose last word was not answered. On a server its transaction may still be under way, so it
    /// is not ended there: [`crate::commit::mark`] asks first.
    pub(crate) fn give_up(&mut self) -> GivenUp {
        self.in_use = false;
        match self.conn.take() {
            Some(Connection::Postgres(session)) => session.give_up(),
            _ => GivenUp::default(),
        }
    }

    /// The connection is in order. One of a pool goes back to it, where it is looked after before its next use.
    pub(crate) fn done(&mut self) {
        self.in_use = false;
        if matches!(self.conn, Some(Connection::Postgres(_)))
            && let Some(Connection::Postgres(session)) = self.conn.take()
        {
            session.put_back();
        }
    }

    /// Ends what was begun and failed. Only after a fault that says nothing against it is the connection used again.
    pub(crate) async fn undo(&mut self, fault: &Fault) {
        let Some(conn) = &mut self.conn else { return };
        let is_over = match conn {
            // A file waits for nobody, and its threads have no timers. Closing would end a transaction too, but a file that
            // other connections share is better left tidily.
            Connection::Sqlite(_) => conn.rollback().await.is_ok(),
            Connection::Postgres(_) if fault.spares_the_connection() => {
                matches!(timeout(ROLLBACK, conn.rollback()).await, Ok(Ok(())))
            }
            Connection::Postgres(_) => false,
        };
        if is_over && fault.spares_the_connection() {
            return self.done();
        }
        self.discard(fault);
    }

    /// Makes room if the disk is full: the write-ahead log of an embedded database may be many times as long as what it says, and
    /// is copied and cut off.
    pub(crate) async fn make_room_after(&mut self, fault: &Fault, origin: &Origin) {
        if fault.is_for_want_of_room() {
            self.lacks_room = true;
            self.make_room(origin).await;
        }
    }

    /// Makes room if the disk was full at last, before anything else is written: what room there is by now is needed for copying
    /// the log.
    pub(crate) async fn make_room(&mut self, origin: &Origin) {
        if !self.lacks_room {
            return;
        }
        let Ok(Connection::Sqlite(conn)) = self.connection(origin).await else { return };
        // From now on the log stays short, which is slower, and leaves room for what it says.
        let cut = format!("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = {SHORT_LOG}");
        match conn.batch_execute(&cut) {
            Ok(()) => {
                tracing::warn!("the disk is full; the write-ahead log was copied and cut off");
                self.lacks_room = false;
                self.done();
            }
            Err(error) => {
                tracing::error!(%error, "the disk is full, and the write-ahead log cannot be copied");
                self.undo(&Fault::Overtaken).await;
            }
        }
    }

    /// Closes the connection, whatever state it is in.
    pub(crate) fn discard(&mut self, fault: &Fault) {
        self.in_use = false;
        match self.conn.take() {
            Some(Connection::Postgres(session)) => session.abandon(fault),
            other => drop(other),
        }
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        if self.in_use {
            self.discard(&Fault::Abandoned);
        }
    }
}
