//! Members of the operator's staff.

use diesel::{BoolExpressionMethods as _, ExpressionMethods as _, Insertable, QueryDsl as _, Queryable};
use quipu_kernel::{Page, Period, Timestamp};
use quipu_merchants::{DirectoryError, Operator, Role};

use crate::{
    connection::{Connection, execute, first, load},
    error::{Fault, Refused},
    rows::{
        period::in_period,
        stored::{bigint, natural, parsed},
    },
    schema::operators,
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
    expires_at: Option<i64>,
}

impl OperatorRow {
    fn into_operator(self) -> Result<Operator, Fault> {
        Ok(Operator {
            operator_id: self.operator_id,
            name: self.name,
            role: parsed("a role", &self.role)?,
            token_hash: self.token_hash,
            expires_at: self.expires_at.map(Timestamp::from_millis),
            revoked_at: self.revoked_at.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}

/// Adds a member of staff.
pub(super) async fn add(conn: &mut Connection, operator: Operator) -> Result<(), Refused<DirectoryError>> {
    let row = OperatorRow {
        operator_id: operator.operator_id,
        name: operator.name,
        role: operator.role.as_str().to_owned(),
        token_hash: operator.token_hash,
        revoked_at: operator.revoked_at.map(Timestamp::millis),
        created_at: operator.created_at.millis(),
        expires_at: operator.expires_at.map(Timestamp::millis),
    };
    execute!(conn, diesel::insert_into(operators::table).values(&row))?;
    Ok(())
}

/// The member of staff with this token.
pub(super) async fn by_hash(conn: &mut Connection, hash: &str) -> Result<Option<Operator>, Fault> {
    let query = operators::table.filter(operators::token_hash.eq(hash));
    first!(conn, OperatorRow, query)?.map(OperatorRow::into_operator).transpose()
}

/// A page of the members of staff who were added in a period, newest first, and the number of all of them.
pub(super) async fn page(
    conn: &mut Connection,
    created: Period,
    page: Page,
) -> Result<(Vec<Operator>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {
            in_period!($query, operators::created_at, created)
        };
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(operators::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        OperatorRow,
        narrowed!(operators::table.into_boxed())
            .order((operators::created_at.desc(), operators::operator_id.desc()))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let staff = rows.into_iter().map(OperatorRow::into_operator).collect::<Result<_, _>>()?;
    Ok((staff, natural(total)?))
}

/// Revokes a token, unless it is the last admin's; answers whether it was active until now.
pub(super) async fn revoke(
    conn: &mut Connection,
    operator_id: &str,
    at: Timestamp,
) -> Result<bool, Refused<DirectoryError>> {
    let staff = lock_active_admins_and(conn, operator_id).await?;
    let Some(operator) = staff.iter().find(|it| it.operator_id == operator_id) else {
        return Err(Refused::Rule(DirectoryError::NotFound));
    };
    if operator.revoked_at.is_some() {
        return Ok(false);
    }
    let is_admin = |it: &&Operator| it.role == Role::Admin && it.is_active(at);
    let others = staff.iter().filter(is_admin).filter(|it| it.operator_id != operator_id);
    // One who leaves before would leave nobody behind.
    let others = others.filter(|it| it.outlasts(operator));
    if is_admin(&operator) && others.count() == 0 {
        return Err(Refused::Rule(DirectoryError::Conflict(
            "the last admin cannot be revoked: no other admin's token lasts as long",
        )));
    }
    let revoke = diesel::update(operators::table.find(operator_id));
    execute!(conn, revoke.set(operators::revoked_at.eq(at.millis())))?;
    Ok(true)
}

/// The admins whose tokens are not revoked, and the operator with this identifier. Their rows stay locked
/// until the transaction ends, so that two admins who revoke each other do not both succeed.
async fn lock_active_admins_and(
    conn: &mut Connection,
    operator_id: &str,
) -> Result<Vec<Operator>, Refused<DirectoryError>> {
    let admins = operators::role.eq(Role::Admin.as_str()).and(operators::revoked_at.is_null());
    let query = operators::table
        .filter(admins.or(operators::operator_id.eq(operator_id)))
        .order(operators::operator_id);
    let rows = match conn {
        // The writer's transaction holds the only write lock as it is.
        Connection::Sqlite(conn) => diesel::RunQueryDsl::load::<OperatorRow>(query, conn),
        Connection::Postgres(conn) => {
            diesel_async::RunQueryDsl::load::<OperatorRow>(query.for_update(), &mut ***conn).await
        }
    };
    let rows = rows?;
    Ok(rows.into_iter().map(OperatorRow::into_operator).collect::<Result<_, _>>()?)
}
