//! A connection to either database, and the macros that run one query on both.
//!
//! A query is written once and expanded into two arms, because each arm gives it another backend type. The
//! SQLite arm never waits: its future is ready when it is first polled, which is why a plain thread can drive
//! it with [`ready`].

use std::{
    future::poll_fn,
    task::Poll,
    time::{Duration, Instant},
};

use diesel::{Connection as _, QueryResult, SqliteConnection, connection::SimpleConnection as _};
use diesel_async::SimpleAsyncConnection as _;
use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{error::Fault, postgres::session::Session, statement::statement};

/// The length of SQLite's write-ahead log, in pages, at which a commit copies it into the database if no
/// checkpoint did so before.
pub(crate) const FULL_LOG: i32 = 64_000;

/// A connection. PostgreSQL connections are borrowed from a pool, which replaces broken ones.
pub(crate) enum Connection {
    /// A connection to an embedded database.
    Sqlite(SqliteConnection),
    /// A session on a server.
    Postgres(Box<Session>),
}

/// Runs a statement; answers the number of rows that it changed.
macro_rules! execute {
    ($conn:expr, $query:expr) => {
        match $conn {
            $crate::connection::Connection::Sqlite(conn) => diesel::RunQueryDsl::execute($query, conn),
            $crate::connection::Connection::Postgres(conn) => {
                diesel_async::RunQueryDsl::execute($query, &mut ***conn).await
            }
        }
    };
}

/// All rows of a query.
macro_rules! load {
    ($conn:expr, $row:ty, $query:expr) => {
        match $conn {
            $crate::connection::Connection::Sqlite(conn) => diesel::RunQueryDsl::load::<$row>($query, conn),
            $crate::connection::Connection::Postgres(conn) => {
                diesel_async::RunQueryDsl::load::<$row>($query, &mut ***conn).await
            }
        }
    };
}

/// Runs one of two statements: the first on SQLite, the second on PostgreSQL.
macro_rules! either {
    ($conn:expr, $run:ident, $file:expr, $server:expr) => {
        match $conn {
            $crate::connection::Connection::Sqlite(conn) => diesel::RunQueryDsl::$run($file, conn),
            $crate::connection::Connection::Postgres(conn) => {
                diesel_async::RunQueryDsl::$run($server, &mut ***conn).await
            }
        }
    };
}

/// The first row of a query, if it has one.
macro_rules! first {
    ($conn:expr, $row:ty, $query:expr) => {
        diesel::OptionalExtension::optional(match $conn {
            $crate::connection::Connection::Sqlite(conn) => {
                diesel::RunQueryDsl::get_result::<$row>($query, conn)
            }
            $crate::connection::Connection::Postgres(conn) => {
                diesel_async::RunQueryDsl::get_result::<$row>($query, &mut ***conn).await
            }
        })
    };
}

pub(crate) use {either, execute, first, load};

statement! { BeginWriting on diesel::sqlite::Sqlite { ; "BEGIN IMMEDIATE" } }
statement! { BeginReading on diesel::sqlite::Sqlite { ; "BEGIN" } }
statement! { CommitSqlite on diesel::sqlite::Sqlite { ; "COMMIT" } }

impl Connection {
    /// Opens an embedded database. A connection waits for `lock` before it fails because the database is
    /// locked. When a commit returns, it is on disk. Each connection caches 8 MiB of pages and maps none, so
    /// that memory stays bounded however large the file grows; the system's cache holds the rest.
    pub(crate) fn open_sqlite(path: &str, lock: Duration) -> Result<Self, Fault> {
        let busy = lock.as_millis();
        let mut conn = SqliteConnection::establish(&sqlite_address(path))
            .map_err(|error| Fault::Unconnected(error.to_string()))?;
        conn.batch_execute(&format!(
            "PRAGMA busy_timeout = {busy};
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = ON;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -8192;
             PRAGMA mmap_size = 0;
             PRAGMA wal_autocheckpoint = {FULL_LOG};
             PRAGMA journal_size_limit = 268435456;"
        ))
        .and_then(|()| keep_log(&mut conn, lock))
        .map_err(|error| Fault::Unconnected(error.to_string()))?;
        Ok(Self::Sqlite(conn))
    }

    /// Begins a transaction that will write.
    pub(crate) async fn begin_writing(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => diesel::RunQueryDsl::execute(BeginWriting, conn).map(drop),
            Self::Postgres(conn) => conn.batch_execute("BEGIN").await,
        }
    }

    /// Begins a transaction that sees one state of the database throughout.
    pub(crate) async fn begin_snapshot(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => diesel::RunQueryDsl::execute(BeginReading, conn).map(drop),
            Self::Postgres(conn) => {
                conn.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
            }
        }
    }

    /// Ends a transaction and keeps what it did.
    pub(crate) async fn commit(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => diesel::RunQueryDsl::execute(CommitSqlite, conn).map(drop),
            Self::Postgres(conn) => conn.batch_execute("COMMIT").await,
        }
    }

    /// Ends a transaction and undoes what it did. An error means that the connection must not be used again.
    pub(crate) async fn rollback(&mut self) -> QueryResult<()> {
        match self {
            Self::Sqlite(conn) => match conn.batch_execute("ROLLBACK") {
                // SQLite may have rolled back by itself, after a full disk for one.
                Err(error) if error.to_string().contains("no transaction is active") => Ok(()),
                outcome => outcome,
            },
            Self::Postgres(conn) => conn.batch_execute("ROLLBACK").await,
        }
    }
}

/// Makes the database keep a write-ahead log, if it does not yet. While another process does the same with a
/// new database SQLite fails at once and does not wait, so it is tried again for as long as `patience`.
pub(crate) fn keep_log(conn: &mut SqliteConnection, patience: Duration) -> QueryResult<()> {
    let begun = Instant::now();
    loop {
        match conn.batch_execute("PRAGMA journal_mode = WAL") {
            Err(error) if error.to_string().contains("is locked") && begun.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

/// The address of an existing embedded database. SQLite would make a missing one, and nobody would learn that
/// the former one is gone.
pub(crate) fn sqlite_address(path: &str) -> String {
    address_in_mode(path, "rw")
}

/// The same address, for a connection that must not change the file.
pub(crate) fn sqlite_address_to_read(path: &str) -> String {
    address_in_mode(path, "ro")
}

/// The address of its file alone: SQLite neither looks for a log nor takes a lock.
pub(crate) fn sqlite_address_without_log(path: &str) -> String {
    address_in_mode(path, "ro&immutable=1")
}

fn address_in_mode(path: &str, mode: &str) -> String {
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let host = if path.starts_with('/') { "//" } else { "" };
    format!("file:{host}{escaped}?mode={mode}")
}

/// The result of a future that never waits, which every future over a SQLite connection is.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap_or_else(|| unreachable!("nothing in the SQLite arm of a query waits"))
}

/// Drives all futures, first polled in their order, so that their messages are sent in that order; answers
/// their results in that order.
pub(crate) async fn in_order<T: Unpin>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut running: Vec<(BoxFuture<'_, T>, Option<T>)> =
        futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, outcome) in &mut running {
            if outcome.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(ready) => *outcome = Some(ready),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
