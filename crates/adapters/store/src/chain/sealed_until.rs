//! The time up to which all chains are sealed.

use diesel::QueryDsl as _;

use crate::{
    connection::{Connection, first},
    error::Fault,
    schema::sealing,
};

/// The time up to which any node has sealed, in milliseconds since 1970.
pub(crate) async fn sealed_until(conn: &mut Connection) -> Result<i64, Fault> {
    Ok(first!(conn, i64, sealing::table.find(1).select(sealing::sealed_until))?.unwrap_or(0))
}
