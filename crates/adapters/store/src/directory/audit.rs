//! Lines of the audit log.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{MerchantId, Page, Timestamp};
use quipu_merchants::{AuditFilter, AuditRecord};

use crate::{
    chain::sealed_until::sealed_until,
    connection::{Connection, either, first, load},
    error::Fault,
    rows::{
        audit::AuditRow,
        period::in_period,
        stored::{bigint, natural},
    },
    schema::audit_log,
    tables::audit_log::rows::{Many, One},
};

/// Writes a line, in the transaction of the change that it tells of. Its time is not before the time up to
/// which lines are sealed.
pub(crate) async fn write(conn: &mut Connection, record: &AuditRecord) -> Result<(), Fault> {
    let sealed_until = Timestamp::from_millis(sealed_until(conn).await?);
    let line = AuditRecord { at: record.at.max(sealed_until), ..record.clone() };
    either!(conn, execute, One::of(&line), Many::of(std::iter::once(&line)))?;
    Ok(())
}

/// How much later than this change another one may say it was that came before it, in milliseconds. No transaction waits
/// for as long; what is later was written by a clock that is wrong.
const MOST_WAITED: i64 = 30_000;

/// Writes a line that is the merchant's newest, in a transaction that has locked the merchant. Of two changes that
/// waited for each other the later one has the later line, whoever asked first.
pub(super) async fn write_newest(
    conn: &mut Connection,
    merchant: MerchantId,
    record: AuditRecord,
) -> Result<(), Fault> {
    let newest = audit_log::table
        .filter(audit_log::merchant_id.eq(merchant.0))
        .filter(audit_log::at.le(record.at.millis() + MOST_WAITED))
        .order(audit_log::at.desc())
        .select(audit_log::at)
        .limit(1);
    let after = first!(conn, i64, newest)?.map_or(record.at, |newest| Timestamp::from_millis(newest + 1));
    write(conn, &AuditRecord { at: record.at.max(after), ..record }).await
}

/// A page of lines, newest first, and the number of all that pass the filter.
pub(super) async fn page(
    conn: &mut Connection,
    filter: AuditFilter,
    page: Page,
) -> Result<(Vec<AuditRecord>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {{
            let query = in_period!($query, audit_log::at, filter.at);
            match filter.merchant {
                Some(merchant) => query.filter(audit_log::merchant_id.eq(merchant.0)),
                None => query,
            }
        }};
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(audit_log::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        AuditRow,
        narrowed!(audit_log::table.into_boxed())
            .order((audit_log::at.desc(), audit_log::id.desc()))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
    )?;
    conn.commit().await?;
    let records = rows.into_iter().map(AuditRow::into_record).collect::<Result<_, _>>()?;
    Ok((records, natural(total)?))
}
