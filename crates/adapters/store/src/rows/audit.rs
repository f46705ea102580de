//! A line of the audit log as it is stored: written by commits and by the directory, read by the directory.

use diesel::{Insertable, Queryable};
use quipu_kernel::Timestamp;
use quipu_ledger::ChainedRow;
use quipu_merchants::{Actor, AuditRecord};

use crate::{
    error::Fault,
    rows::{chain_place::Place, stored::from_json},
    schema::audit_log,
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
    /// The row of a record. Its time is `not_before` if the record's is earlier.
    pub(crate) fn of(record: &AuditRecord, not_before: i64) -> Self {
        Self {
            id: record.id.clone(),
            at: record.at.millis().max(not_before),
            actor_id: record.actor.id.clone(),
            actor_name: record.actor.name.clone(),
            action: record.action.clone(),
            merchant_id: record.merchant_id,
            subject: record.subject.clone(),
            before: record.before.to_string(),
            after: record.after.to_string(),
        }
    }

    /// The record of a row.
    pub(crate) fn into_record(self) -> Result<AuditRecord, Fault> {
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

    /// The place of the line in its chain.
    pub(crate) fn place(&self) -> Place {
        Place { at: self.at, id: self.id.clone() }
    }

    /// The line as a row to be hashed.
    pub(crate) fn chained(&self) -> ChainedRow {
        let merchant = self.merchant_id.map(|merchant| merchant.to_string());
        ChainedRow::new()
            .text(&self.id)
            .number(self.at)
            .text(&self.actor_id)
            .text(&self.actor_name)
            .text(&self.action)
            .text_or_none(merchant.as_deref())
            .text(&self.subject)
            .text(&self.before)
            .text(&self.after)
    }
}
