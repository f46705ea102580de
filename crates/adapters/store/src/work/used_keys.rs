//! Deletes expired nonces and kept answers.

use async_trait::async_trait;
use diesel::{pg::Pg, sql_types::BigInt, sqlite::Sqlite};
use quipu_commit::{MAX_CLOCK_SKEW, UsedKeys};
use quipu_kernel::{StoreError, Timestamp};

use crate::{
    common_time::common_time, connection::Connection, error::Fault, statement::statement, store::Store,
};

statement! { DeleteNonces on Sqlite {
    "DELETE FROM nonces WHERE rowid IN (SELECT rowid FROM nonces WHERE expires_at < " => before: i64 as BigInt,
    " ORDER BY expires_at LIMIT 0 + " => limit: &'a i64 as BigInt ; ")"
} }

statement! { DeleteAnswers on Sqlite {
    "DELETE FROM kept_answers WHERE rowid IN (SELECT rowid FROM kept_answers WHERE expires_at < "
    => before: i64 as BigInt, " ORDER BY expires_at LIMIT 0 + " => limit: &'a i64 as BigInt ; ")"
} }

statement! { DeleteNoncesOnServer on Pg {
    "DELETE FROM nonces WHERE ctid = ANY (ARRAY (SELECT ctid FROM nonces WHERE expires_at < "
    => before: i64 as BigInt, " ORDER BY expires_at LIMIT 0 + " => limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! { DeleteAnswersOnServer on Pg {
    "DELETE FROM kept_answers WHERE ctid = ANY (ARRAY (SELECT ctid FROM kept_answers WHERE expires_at < "
    => before: i64 as BigInt, " ORDER BY expires_at LIMIT 0 + " => limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

#[async_trait]
impl UsedKeys for Store {
    async fn delete_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let limit = i64::from(limit);
        let deleted = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let before = common_time(conn, now).await?.minus(MAX_CLOCK_SKEW).millis();
                let count = match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::execute(DeleteNonces { before, limit: &limit }, conn)?
                            + diesel::RunQueryDsl::execute(DeleteAnswers { before, limit: &limit }, conn)?
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl as _;
                        let nonces =
                            DeleteNoncesOnServer { before, limit: &limit }.execute(&mut ***conn).await?;
                        nonces + DeleteAnswersOnServer { before, limit: &limit }.execute(&mut ***conn).await?
                    }
                };
                Ok::<_, Fault>(count as u64)
            })
        });
        Ok(deleted.await?)
    }
}
