//! Parked receipts.

use quipu_kernel::{Fields, PaymentId, Problems};
use quipu_payments::{ReceiptFilter, Resolution, StaffCall, UNKNOWN_TENANT, operator_receipt};

use super::{checked, decided::Deciding};
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    code::ErrorCode,
    envelope,
    error::ApiError,
    kept_answer,
};

/// `GET /operator/v1/receipts`, newest first.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let created = query.created(&mut problems);
    let resolved = match query.text("status", &mut problems) {
        None => None,
        Some("parked") => Some(false),
        Some("resolved") => Some(true),
        Some(_) => {
            problems.add("status", "must be one of parked, resolved");
            None
        }
    };
    let filter = ReceiptFilter {
        merchant: query.merchant(&mut problems),
        payment_id: query.parsed::<PaymentId>("payment_id", &mut problems),
        resolved,
        created_from: created.from,
        created_to: created.to,
    };
    let page = checked(Some(page), problems)?;
    let (receipts, total) = call.state.services.all_payments.receipts(&filter, page).await?;
    envelope::many(receipts.iter().map(operator_receipt).collect(), total, page)
}

/// `POST /operator/v1/receipts/{receipt_id}/resolve`
pub(crate) async fn resolve(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let receipt = call.state.services.all_payments.receipt(call.segment("receipt_id")).await?;
    let missing = || ApiError::refused(ErrorCode::ReceiptNotFound, "there is no such receipt");
    let receipt = receipt.ok_or_else(missing)?;
    let body = call.json().await?;
    let mut problems = Problems::new();
    let action = Fields::of_body(&body)?.required_parsed::<Resolution>("action", &mut problems);
    let action = checked(action, problems)?;
    let tenant = receipt.tenant.unwrap_or(UNKNOWN_TENANT);
    let what = StaffCall::Resolve(&receipt.receipt_id);
    let deciding = match Deciding::begin(&call, &staff, tenant, what).await? {
        Ok(deciding) => deciding,
        Err(repeated) => return kept_answer::send(repeated),
    };
    let decided = {
        let record = |before: &_, after: &_| {
            (deciding.doing.resolved(before, after), deciding.keeps(&operator_receipt(after)))
        };
        call.state.services.resolve.run(&receipt.receipt_id, action, &record).await
    };
    deciding.end(decided.map(|receipt| operator_receipt(&receipt))).await
}
