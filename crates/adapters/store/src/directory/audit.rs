//! Lines of the audit log.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::Page;
use quipu_merchants::{AuditFilter, AuditRecord};

use crate::{
    chain::sealed_until::sealed_until,
    connection::{Connection, execute, first, load},
    error::Fault,
    rows::{audit::AuditRow, period::in_period},
    schema::audit_log,
};

/// Writes a line, in the transaction of the change that it tells of. Its time is later than the time up to
/// which lines are sealed.
pub(crate) async fn write(conn: &mut Connection, record: &AuditRecord) -> Result<(), Fault> {
    let row = AuditRow::of(record, sealed_until(conn).await?);
    execute!(conn, diesel::insert_into(audit_log::table).values(&row))?;
    Ok(())
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
            .offset(i64::try_from(page.offset()).unwrap_or(i64::MAX))
    )?;
    conn.commit().await?;
    let records = rows.into_iter().map(AuditRow::into_record).collect::<Result<_, _>>()?;
    Ok((records, u64::try_from(total).unwrap_or(0)))
}
