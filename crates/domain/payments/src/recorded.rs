//! What every decision of staff records.

use quipu_commit::IdempotencyRecord;
use quipu_merchants::AuditRecord;

/// The line of the audit log, and the answer that is kept under the person's key, if there is one.
pub type Recorded = (AuditRecord, Option<IdempotencyRecord>);
