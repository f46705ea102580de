//! Loading the state that a batch depends on.

use super::{
    load_postgres, load_sqlite,
    state::{State, Wanted},
};
use crate::{connection::Connection, error::Fault};

/// Begins a transaction and loads everything `wanted`. On PostgreSQL the balances and payments stay locked until it ends.
pub(crate) async fn begin(conn: &mut Connection, wanted: &Wanted) -> Result<State, Fault> {
    match conn {
        Connection::Sqlite(conn) => load_sqlite::begin(conn, wanted),
        Connection::Postgres(conn) => load_postgres::begin(conn, wanted).await,
    }
}
