//! The audit log.

use quipu_kernel::{MerchantId, Problems};

use super::checked;
use crate::{
    call::{Call, Outcome},
    caller::Staff,
    envelope,
};

/// `GET /operator/v1/audit-log`, newest first, optionally of one merchant.
pub(crate) async fn list(call: Call, _staff: Staff) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let merchant = query.whole_number("merchant_id", &mut problems);
    // A number beyond every merchant's has no lines.
    let merchant = merchant.map(|id| MerchantId(i64::try_from(id).unwrap_or(i64::MAX)));
    let page = checked(Some(page), problems)?;
    let (lines, total) = call.state.services.directory.audit_log(merchant, page).await?;
    envelope::many(lines, total, page)
}
