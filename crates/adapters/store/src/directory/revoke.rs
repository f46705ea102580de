//! Revoking API keys and credentials, which works in the same way for both.

/// Revokes the row that `$column` names, of this merchant, and answers whether it was active until now.
macro_rules! revoke {
    ($conn:expr, $table:ident, $column:expr, $id:expr, $merchant:expr, $at:expr) => {{
        let query = $table::table
            .filter($column.eq($id))
            .filter($table::merchant_id.eq($merchant.0))
            .select($table::revoked_at);
        match first!($conn, Option<i64>, query)? {
            None => Err(Refused::Rule(DirectoryError::NotFound)),
            Some(Some(_)) => Ok(false),
            Some(None) => {
                let revoke = diesel::update($table::table.find($id));
                execute!($conn, revoke.set($table::revoked_at.eq($at.millis())))?;
                Ok(true)
            }
        }
    }};
}

/// Revokes every active row of this merchant, which must be locked, and answers what `$column` holds of them.
macro_rules! revoke_all {
    ($conn:expr, $table:ident, $column:expr, $merchant:expr, $at:expr) => {{
        let active =
            $table::table.filter($table::merchant_id.eq($merchant.0)).filter($table::revoked_at.is_null());
        let revoked = load!($conn, String, active.select($column))?;
        execute!($conn, diesel::update(active).set($table::revoked_at.eq($at.millis())))?;
        Ok(revoked)
    }};
}

pub(super) use {revoke, revoke_all};
