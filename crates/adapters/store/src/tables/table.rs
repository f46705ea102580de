//! What a table of records is.

use std::any::{Any, TypeId};

use diesel::{QueryResult, SqliteConnection};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use quipu_commit::{Aggregate, Holder, Index, Record};
use quipu_kernel::{Tenant, Timestamp};

/// A record on its way into a row, with what it shares with the rest of its change.
pub(crate) struct Line<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) at: Timestamp,
    pub(crate) record: &'a dyn Record,
    /// What was worked out before its turn came, so that the writer does not have to.
    pub(crate) prepared: &'a str,
    /// The revision that its row has; [`Expect::ABSENT`](quipu_commit::Expect::ABSENT) if there is none yet.
    pub(crate) from: i64,
}

impl<'a> Line<'a> {
    /// The record as what the table keeps.
    ///
    /// # Panics
    ///
    /// If the table was found for another type, which the look-up excludes.
    pub(crate) fn record<T: Record>(&self) -> &'a T {
        let record = (self.record as &dyn Any).downcast_ref();
        record.unwrap_or_else(|| unreachable!("a table is found by the type of its records"))
    }
}

/// Where records of one type go.
pub(crate) trait Table: Sync {
    /// The type.
    fn keeps(&self) -> TypeId;

    /// What can be worked out before the writer's turn.
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

    /// Fails if a row is not at the revision that it was at when the change was decided.
    fn update_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>>;

    /// The revision at which a row stands.
    fn revision_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        id: &str,
    ) -> QueryResult<Option<i64>>;

    /// Locks rows in the order of `keys`; answers the place of each key that has one, from 1, and its revision.
    fn lock_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        keys: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, i64)>>>;
}

/// A kind of unique name, and where its holders are.
pub(crate) trait NameTable: Sync {
    fn index(&self) -> Index;

    fn holder_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        name: &str,
    ) -> QueryResult<Option<Holder>>;

    /// The place of each name that is held, from 1, and its holder.
    fn holders_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        names: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, Holder)>>>;
}

/// A number of bytes as the databases keep it.
pub(crate) fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
