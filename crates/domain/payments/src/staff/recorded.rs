//! The records of a decision of staff.

use quipu_commit::{Changes, IdempotencyRecord};
use quipu_merchants::AuditRecord;

/// What the commit of a decision records of it.
#[derive(Debug)]
pub struct Recorded {
    /// The line of the audit log.
    pub audit: AuditRecord,
    /// The answer to be kept under the person's key, if the decision has one.
    pub kept_answer: Option<IdempotencyRecord>,
}

impl Recorded {
    pub(crate) fn add_to(self, changes: &mut Changes) {
        changes.add(self.audit);
        changes.idempotency = self.kept_answer;
    }
}

/// The record of a decision without a key.
impl From<AuditRecord> for Recorded {
    fn from(audit: AuditRecord) -> Self {
        Self { audit, kept_answer: None }
    }
}
