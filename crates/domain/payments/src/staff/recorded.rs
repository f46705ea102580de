//! The records of a decision of staff.

use quipu_commit::IdempotencyRecord;
use quipu_merchants::AuditRecord;

/// The most characters of a reason in words.
pub(crate) const MAX_REASON: usize = 500;

/// The line of the audit log, and the answer to be kept under the person's key, if the decision has one.
pub type Recorded = (AuditRecord, Option<IdempotencyRecord>);
