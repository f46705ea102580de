//! A line of the audit log as it is read.

use diesel::Queryable;
use quipu_kernel::{MerchantId, Timestamp};
use quipu_ledger::ChainedRow;
use quipu_merchants::{Actor, AuditRecord};

use crate::{
    error::Fault,
    rows::{chain_place::Place, stored::from_json},
};

/// One line, column by column.
#[derive(Debug, Queryable)]
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
    /// The record of a row.
    pub(crate) fn into_record(self) -> Result<AuditRecord, Fault> {
        Ok(AuditRecord {
            before: from_json("an audit line", &self.before)?,
            after: from_json("an audit line", &self.after)?,
            id: self.id,
            at: Timestamp::from_millis(self.at),
            actor: Actor { id: self.actor_id, name: self.actor_name },
            action: self.action,
            merchant_id: self.merchant_id.map(MerchantId),
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
