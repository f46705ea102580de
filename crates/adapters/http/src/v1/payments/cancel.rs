//! Cancelling a withdrawal that has not been submitted yet.

use quipu_kernel::{Fields, Problems};
use serde_json::Value;

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    pages::links::ShownPayment,
    request::{Call, Outcome},
};

/// The most characters of a reason.
const MAX_REASON: usize = 500;

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let id = call.segment("id").parse().map_err(|_| ApiError::payment_not_found())?;
    // The payment is looked up before the body is read, so that no client sends one about another's payment.
    let found = call.state.services.payments.payment(caller.tenant(), &id).await?;
    found.ok_or_else(ApiError::payment_not_found)?;
    let reason = parse_reason(&call.optional_json().await?)?;
    let payment = call.state.services.cancel.run(caller.tenant(), &id, reason).await?;
    envelope::one(ShownPayment::of(&payment, &call.state.services.pages.links))
}

fn parse_reason(body: &Value) -> Result<Option<String>, ApiError> {
    let mut problems = Problems::new();
    let reason = Fields::of_body(body)?.optional_long_text("reason", MAX_REASON, &mut problems);
    problems.into_result()?;
    Ok(reason)
}
