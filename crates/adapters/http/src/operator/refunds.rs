//! Refunds.

use quipu_kernel::Problems;
use quipu_payments::{Payment, Refund, RefundOrder, StaffCall, operator_record};
use serde_json::{Value, json};

use super::{keyed_decision::KeyedDecision, payments::found};
use crate::{
    answer::envelope,
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/payments/{payment_id}/refunds`
pub(crate) async fn create(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let payment = found(&call).await?;
    let what = StaffCall::Refund(payment.id());
    let keyed = KeyedDecision::of(&call, &staff, payment.terms().tenant, what).await?;
    keyed
        .run(async || {
            let order = RefundOrder::parse(&call.json().await?)?;
            let record = |before: &_, after: &_, refund: &_| {
                keyed.recorded(keyed.action.refunded(before, after, refund), &shown(after, refund))
            };
            let (payment, refund) = call.state.services.refund.run(payment.id(), &order, &record).await?;
            Ok(shown(&payment, &refund))
        })
        .await
}

/// `GET /operator/v1/payments/{payment_id}/refunds`, oldest first.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    problems.into_result()?;
    let payment = found(&call).await?;
    let mut refunds = call.state.services.all_payments.refunds(payment.terms().tenant, payment.id()).await?;
    refunds.retain(|refund| created.contains(refund.created_at));
    let total = u64::try_from(refunds.len()).unwrap_or(u64::MAX);
    let from = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let wanted = refunds.into_iter().skip(from).take(page.limit() as usize);
    envelope::many(wanted.collect(), total, page)
}

/// The refund, and the payment as it is after it.
fn shown(payment: &Payment, refund: &Refund) -> Value {
    let mut shown = json!(refund);
    shown["payment"] = operator_record(payment);
    shown["status"] = json!(payment.status());
    shown["status_version"] = json!(payment.state().version);
    shown["refunded_amount"] = json!(payment.state().refunded_amount);
    shown
}
