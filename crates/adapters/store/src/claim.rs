//! Work that waits for a worker: payments whose time has come, handed out under a lease.

use async_trait::async_trait;
use diesel::{
    ExpressionMethods as _, QueryDsl as _,
    dsl::{count_star, min},
};
use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Text},
    sqlite::Sqlite,
};
use quipu_kernel::Timestamp;
use quipu_merchants::StoreUnavailable;
use quipu_payments::{DueQueue, Payment};

use crate::{
    connection::{Connection, first},
    error::Fault,
    payment_row::PaymentRow,
    schema::payments,
    statement::statement,
    store::Store,
};

statement! { LeaseOne on Sqlite {
    "UPDATE payments SET due_at = " until: i64 as BigInt, " WHERE merchant_id = " merchant: i64 as BigInt,
    " AND environment = " environment: &'a str as Text, " AND id = " id: &'a str as Text ; ""
} }

statement! { LeaseAll on Pg {
    "UPDATE payments AS leased SET due_at = " until: i64 as BigInt,
    " FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>, ", " environments: Vec<&'a str> as Array<Text>,
    ", " ids: Vec<&'a str> as Array<Text> ;
    ") AS wanted (merchant_id, environment, id) WHERE leased.merchant_id = wanted.merchant_id
        AND leased.environment = wanted.environment AND leased.id = wanted.id"
} }

statement! { PruneNonces on Sqlite {
    "DELETE FROM nonces WHERE rowid IN (SELECT rowid FROM nonces WHERE expires_at < " now: i64 as BigInt,
    " ORDER BY expires_at LIMIT " limit: &'a i64 as BigInt ; ")"
} }

statement! { PruneAnswers on Sqlite {
    "DELETE FROM kept_answers WHERE rowid IN (SELECT rowid FROM kept_answers WHERE expires_at < " now: i64 as BigInt,
    " ORDER BY expires_at LIMIT " limit: &'a i64 as BigInt ; ")"
} }

statement! { PruneNoncesOnServer on Pg {
    "DELETE FROM nonces WHERE ctid = ANY (ARRAY (SELECT ctid FROM nonces WHERE expires_at < " now: i64 as BigInt,
    " ORDER BY expires_at LIMIT " limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

statement! { PruneAnswersOnServer on Pg {
    "DELETE FROM kept_answers WHERE ctid = ANY (ARRAY (SELECT ctid FROM kept_answers WHERE expires_at < "
    now: i64 as BigInt, " ORDER BY expires_at LIMIT " limit: &'a i64 as BigInt ; " FOR UPDATE SKIP LOCKED))"
} }

/// The types of payments that take money out.
const PAYOUTS: [&str; 2] = ["withdrawal", "withdrawal_pp"];

#[async_trait]
impl DueQueue for Store {
    async fn claim(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<Payment>, StoreUnavailable> {
        // A look at the index costs no turn in the writer's queue when there is nothing to do.
        if self.next_due().await?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let claimed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move { claim(conn, now, lease_until, limit).await })
        });
        Ok(claimed.await?)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreUnavailable> {
        let due = self.inner.engine.read(|conn: &mut Connection| {
            Box::pin(async move {
                let query =
                    payments::table.filter(payments::due_at.is_not_null()).select(min(payments::due_at));
                let due = first!(conn, Option<i64>, query)?.flatten();
                Ok::<_, Fault>(due.map(Timestamp::from_millis))
            })
        });
        Ok(due.await?)
    }

    async fn overdue_payouts(&self, now: Timestamp) -> Result<(u64, Option<Timestamp>), StoreUnavailable> {
        let overdue = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = payments::table
                    .filter(payments::due_at.le(now.millis()))
                    .filter(payments::kind.eq_any(PAYOUTS))
                    .select((count_star(), min(payments::due_at)));
                let (count, first) = first!(conn, (i64, Option<i64>), query)?.unwrap_or_default();
                Ok::<_, Fault>((u64::try_from(count).unwrap_or(0), first.map(Timestamp::from_millis)))
            })
        });
        Ok(overdue.await?)
    }

    async fn changed(&self) {
        self.inner.due.notified().await;
    }

    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreUnavailable> {
        let (now, limit) = (now.millis(), i64::from(limit));
        let pruned = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move {
                let count = match conn {
                    Connection::Sqlite(conn) => {
                        diesel::RunQueryDsl::execute(PruneNonces { now, limit: &limit }, conn)?
                            + diesel::RunQueryDsl::execute(PruneAnswers { now, limit: &limit }, conn)?
                    }
                    Connection::Postgres(conn) => {
                        use diesel_async::RunQueryDsl;
                        let nonces = PruneNoncesOnServer { now, limit: &limit }.execute(&mut ***conn).await?;
                        nonces + PruneAnswersOnServer { now, limit: &limit }.execute(&mut ***conn).await?
                    }
                };
                Ok::<_, Fault>(count as u64)
            })
        });
        Ok(pruned.await?)
    }
}

/// The rows as they stood, so that each payment carries the time and the action that were due.
async fn claim(
    conn: &mut Connection,
    now: Timestamp,
    lease_until: Timestamp,
    limit: u32,
) -> Result<Vec<Payment>, Fault> {
    macro_rules! due {
        () => {
            payments::table
                .filter(payments::due_at.le(now.millis()))
                .order(payments::due_at.asc())
                .limit(limit.into())
        };
    }
    let until = lease_until.millis();
    let rows = match conn {
        Connection::Sqlite(conn) => {
            let rows: Vec<PaymentRow> = diesel::RunQueryDsl::load(due!(), conn)?;
            for row in &rows {
                let (merchant, environment, id) =
                    (row.merchant_id, row.environment.as_str(), row.id.as_str());
                diesel::RunQueryDsl::execute(LeaseOne { until, merchant, environment, id }, conn)?;
            }
            rows
        }
        Connection::Postgres(conn) => {
            use diesel_async::RunQueryDsl;
            // What another node has its hands on is its own.
            let rows: Vec<PaymentRow> = due!().for_update().skip_locked().load(&mut ***conn).await?;
            let lease = LeaseAll {
                until,
                merchants: rows.iter().map(|row| row.merchant_id).collect(),
                environments: rows.iter().map(|row| row.environment.as_str()).collect(),
                ids: rows.iter().map(|row| row.id.as_str()).collect(),
            };
            lease.execute(&mut ***conn).await?;
            rows
        }
    };
    Ok(rows.into_iter().filter_map(readable).collect())
}

/// The payment of a row; none if it cannot be read. That one keeps its lease and is tried again when it ends, and all
/// others are claimed as if it were not there.
fn readable(row: PaymentRow) -> Option<Payment> {
    let payment = row.into_payment();
    payment.inspect_err(|fault| tracing::error!(%fault, "a due payment cannot be read")).ok()
}
