//! The audit log.

use quipu_kernel::Problems;
use quipu_merchants::AuditFilter;

use crate::{
    answer::envelope,
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `GET /operator/v1/audit-log`, newest first.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let filter = AuditFilter { merchant: query.merchant(&mut problems), at: query.created(&mut problems) };
    problems.into_result()?;
    let (lines, total) = call.state.services.directory.audit_log(filter, page).await?;
    envelope::many(lines, total, page)
}
