//! The audit log.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _, Queryable};
use quipu_kernel::{Page, Timestamp};
use quipu_merchants::{Actor, AuditFilter, AuditRecord};

use super::in_period;
use crate::{
    connection::{Connection, execute, first, load},
    error::Fault,
    schema::audit_log,
    stored::from_json,
};

/// One line, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = audit_log, treat_none_as_default_value = false)]
pub(crate) struct AuditRow {
    id: String,
    at: i64,
    actor_id: String,
    actor_name: String,
    action: String,
    merchant_id: Option<i64>,
    subject: String,
    before: String,
    after: String,
}

impl AuditRow {
    /// The row of a record.
    pub(crate) fn of(record: &AuditRecord) -> Self {
        Self {
            id: record.id.clone(),
            at: record.at.millis(),
            actor_id: record.actor.id.clone(),
            actor_name: record.actor.name.clone(),
            action: record.action.clone(),
            merchant_id: record.merchant_id,
            subject: record.subject.clone(),
            before: record.before.to_string(),
            after: record.after.to_string(),
        }
    }

    fn into_record(self) -> Result<AuditRecord, Fault> {
        Ok(AuditRecord {
            before: from_json("an audit line", &self.before)?,
            after: from_json("an audit line", &self.after)?,
            id: self.id,
            at: Timestamp::from_millis(self.at),
            actor: Actor { id: self.actor_id, name: self.actor_name },
            action: self.action,
            merchant_id: self.merchant_id,
            subject: self.subject,
        })
    }
}

/// Writes one line, inside the transaction of the change it tells of.
pub(crate) async fn write(conn: &mut Connection, record: &AuditRecord) -> Result<(), Fault> {
    let row = AuditRow::of(record);
    execute!(conn, diesel::insert_into(audit_log::table).values(&row))?;
    Ok(())
}

/// A page, newest first, and how many lines there are.
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
    let total = first!(conn, i64, narrowed!(audit_log::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        AuditRow,
        narrowed!(audit_log::table.into_boxed())
            .order((audit_log::at.desc(), audit_log::id.desc()))
            .limit(page.limit().into())
            .offset(i64::try_from(page.offset()).unwrap_or(i64::MAX))
    )?;
    let records = rows.into_iter().map(AuditRow::into_record).collect::<Result<_, _>>()?;
    Ok((records, u64::try_from(total).unwrap_or(0)))
}
