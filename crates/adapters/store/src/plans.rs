//! What SQLite would do for a query, for tests that hold by which index it finds its rows.

use diesel::{
    Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection, debug_query,
    query_builder::QueryFragment, sql_query, sql_types::Text, sqlite::Sqlite,
};

use crate::migrate;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// A database without rows, of which plans are asked.
pub(crate) struct Plans(SqliteConnection);

impl Plans {
    pub(crate) fn new() -> Self {
        let mut conn = SqliteConnection::establish(":memory:").expect("opened");
        migrate::make_embedded(&mut conn).expect("migrated");
        Self(conn)
    }

    /// The lines of the plan of a query.
    pub(crate) fn of(&mut self, query: &impl QueryFragment<Sqlite>) -> Vec<String> {
        let text = debug_query::<Sqlite, _>(query).to_string();
        let plan: Vec<Line> =
            sql_query(format!("EXPLAIN QUERY PLAN {text}")).load(&mut self.0).expect("explained");
        plan.into_iter().map(|line| line.detail).collect()
    }
}
