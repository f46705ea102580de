//! Who may use a connection, and what becomes of it afterwards.

use diesel_async::{
    AsyncPgConnection,
    pooled_connection::deadpool::{Object, Pool},
};

use crate::{connection::Connection, error::Fault};

/// Where connections come from.
#[derive(Clone)]
pub(crate) enum Origin {
    /// The embedded database of this path.
    Sqlite(String),
    /// A pool of connections to a server.
    Postgres(Pool<AsyncPgConnection>),
}

impl Origin {
    pub(crate) async fn connect(&self) -> Result<Connection, Fault> {
        match self {
            Self::Sqlite(path) => Connection::open_sqlite(path),
            Self::Postgres(pool) => match pool.get().await {
                Ok(conn) => Ok(Connection::Postgres(Box::new(conn))),
                Err(error) => Err(Fault::Unconnected(error.to_string())),
            },
        }
    }
}

/// A connection in somebody's hands. It is used again only if whoever had it said that it is in order, with
/// [`Lease::done`] or [`Lease::undo`]; one that was left in the middle of something, by a panic for one, is closed.
pub(crate) struct Lease {
    conn: Option<Connection>,
    in_use: bool,
}

impl Lease {
    /// No connection yet; the first use makes one.
    pub(crate) const fn none() -> Self {
        Self { conn: None, in_use: false }
    }

    /// The connection, a new one where there is none or the last one was left in disorder.
    pub(crate) async fn connection(&mut self, origin: &Origin) -> Result<&mut Connection, Fault> {
        if self.in_use {
            self.discard();
        }
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => origin.connect().await?,
        };
        self.in_use = true;
        Ok(self.conn.insert(conn))
    }

    /// The connection is in order. One of a pool goes back to it, where it is looked after before its next use.
    pub(crate) fn done(&mut self) {
        self.in_use = false;
        if let Some(Connection::Postgres(_)) = self.conn {
            self.conn = None;
        }
    }

    /// Rolls back whatever was begun. A connection that cannot even do that is closed.
    pub(crate) async fn undo(&mut self) {
        if let Some(conn) = &mut self.conn {
            match conn.rollback().await {
                Ok(()) => self.done(),
                Err(_) => self.discard(),
            }
        }
    }

    fn discard(&mut self) {
        self.in_use = false;
        match self.conn.take() {
            // Taken out of the pool, it is closed instead of being handed to the next.
            Some(Connection::Postgres(conn)) => drop(Object::take(*conn)),
            other => drop(other),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.in_use {
            self.discard();
        }
    }
}
