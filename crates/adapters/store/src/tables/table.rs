//! The interface of a table of records.

use std::any::{Any, TypeId};

use diesel::{QueryResult, SqliteConnection};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use quipu_commit::{Aggregate, Holder, Index, Record};
use quipu_kernel::{Tenant, Timestamp};

/// A record to be written, with the facts that its change shares.
pub(crate) struct Line<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) at: Timestamp,
    pub(crate) record: &'a dyn Record,
    /// The text that was computed before its turn, so that the writer need not do it.
    pub(crate) prepared: &'a str,
    /// The revision of its row; [`Expect::ABSENT`](quipu_commit::Expect::ABSENT) if there is none yet.
    pub(crate) from: i64,
}

impl<'a> Line<'a> {
    /// The record, as the type that the table stores.
    ///
    /// # Panics
    ///
    /// If the record is of another type, which the look-up of the table excludes.
    pub(crate) fn record<T: Record>(&self) -> &'a T {
        let record = (self.record as &dyn Any).downcast_ref();
        record.unwrap_or_else(|| unreachable!("a table is found by the type of its records"))
    }
}

/// A table that stores records of one type.
pub(crate) trait Table: Sync {
    /// The type of its records.
    fn keeps(&self) -> TypeId;

    /// Computes a text that is needed for the row and does not need the writer's turn.
    fn prepare(&self, _record: &dyn Record) -> String {
        String::new()
    }

    fn insert_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()>;

    fn insert_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>>;
}

/// A table whose rows are read, changed and written again.
pub(crate) trait SavedTable: Table {
    fn aggregate(&self) -> Aggregate;

    fn update_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()>;

    /// Fails if a row does not have the revision of the decision.
    fn update_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>>;

    /// The revision of a row.
    fn revision_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        id: &str,
    ) -> QueryResult<Option<i64>>;

    /// Locks rows in the order of `keys`; answers the position of each key that has a row, from 1, and its
    /// revision.
    fn lock_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        keys: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, i64)>>>;
}

/// A kind of unique name, and the table of its holders.
pub(crate) trait NameTable: Sync {
    fn index(&self) -> Index;

    fn holder_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        name: &str,
    ) -> QueryResult<Option<Holder>>;

    /// The position of each name that is held, from 1, and its holder.
    fn holders_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        names: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, Holder)>>>;
}
