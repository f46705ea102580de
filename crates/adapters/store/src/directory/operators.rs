//! The operator's staff.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _, Queryable};
use quipu_kernel::Timestamp;
use quipu_merchants::{DirectoryError, Operator};

use crate::{
    connection::{Connection, execute, first},
    error::Fault,
    schema::operators,
    stored::parsed,
};

/// A row of the staff, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = operators, treat_none_as_default_value = false)]
struct OperatorRow {
    operator_id: String,
    name: String,
    role: String,
    token_hash: String,
    revoked_at: Option<i64>,
    created_at: i64,
}

/// Adds a member of staff.
pub(super) async fn add(conn: &mut Connection, operator: Operator) -> Result<(), DirectoryError> {
    let row = OperatorRow {
        operator_id: operator.operator_id,
        name: operator.name,
        role: operator.role.as_str().to_owned(),
        token_hash: operator.token_hash,
        revoked_at: operator.revoked_at.map(Timestamp::millis),
        created_at: operator.created_at.millis(),
    };
    execute!(conn, diesel::insert_into(operators::table).values(&row)).map_err(Fault::from)?;
    Ok(())
}

/// The member of staff with this token.
pub(super) async fn by_hash(conn: &mut Connection, hash: &str) -> Result<Option<Operator>, Fault> {
    let query = operators::table.filter(operators::token_hash.eq(hash));
    let Some(row) = first!(conn, OperatorRow, query)? else { return Ok(None) };
    Ok(Some(Operator {
        operator_id: row.operator_id,
        name: row.name,
        role: parsed("a role", &row.role)?,
        token_hash: row.token_hash,
        revoked_at: row.revoked_at.map(Timestamp::from_millis),
        created_at: Timestamp::from_millis(row.created_at),
    }))
}
