//! Parked receipts.

use quipu_kernel::{Fields, PaymentId, Problems};
use quipu_payments::{ReceiptFilter, ReceiptStatus, Resolution, StaffCall, filed_under, operator_receipt};
use serde_json::Value;

use super::keyed_decision::KeyedDecision;
use crate::{
    answer::{ApiError, ErrorCode, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `GET /operator/v1/receipts`, newest first.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let created = query.created(&mut problems);
    let status = query.parsed::<ReceiptStatus>("status", &mut problems);
    let filter = ReceiptFilter {
        merchant: query.merchant(&mut problems),
        payment_id: query.parsed::<PaymentId>("payment_id", &mut problems),
        resolved: status.map(|status| status == ReceiptStatus::Resolved),
        created,
    };
    problems.into_result()?;
    let (receipts, total) = call.state.services.all_payments.receipts(&filter, page).await?;
    envelope::many(receipts.iter().map(operator_receipt).collect(), total, page)
}

/// `POST /operator/v1/receipts/{receipt_id}/resolve`
pub(crate) async fn resolve(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let receipt = call.state.services.all_payments.receipt(call.segment("receipt_id")).await?;
    let missing = || ApiError::refused(ErrorCode::ReceiptNotFound, "there is no such receipt");
    let receipt = receipt.ok_or_else(missing)?;
    let tenant = filed_under(receipt.tenant);
    let what = StaffCall::Resolve(&receipt.receipt_id);
    let keyed = KeyedDecision::of(&call, &staff, tenant, what).await?;
    keyed
        .run(async || {
            let action = wanted(&call.json().await?)?;
            let record = |before: &_, after: &_| {
                keyed.recorded(keyed.action.resolved(before, after), &operator_receipt(after))
            };
            let resolved = call.state.services.resolve.run(&receipt.receipt_id, action, &record).await?;
            Ok(operator_receipt(&resolved))
        })
        .await
}

fn wanted(body: &Value) -> Result<Resolution, ApiError> {
    let mut problems = Problems::new();
    let action = Fields::of_body(body)?.required_parsed("action", &mut problems);
    Ok(problems.admit(action)?)
}
