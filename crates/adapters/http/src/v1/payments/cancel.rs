//! Cancelling a withdrawal that was not submitted yet.

use quipu_kernel::{Fields, Problems};
use serde_json::Value;

use crate::{
    call::{Call, Outcome},
    caller::Caller,
    envelope,
    error::ApiError,
    pages::links::ShownPayment,
};

/// The most characters a reason may have.
const MAX_REASON: usize = 500;

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let id = call.segment("id").parse().map_err(|_| ApiError::payment_not_found())?;
    // Whether it exists comes before the body, so that nobody sends one about a payment that is not theirs.
    let found = call.state.services.payments.payment(caller.tenant(), &id).await?;
    found.ok_or_else(ApiError::payment_not_found)?;
    let reason = parse_reason(&call.optional_json().await?)?;
    let payment = call.state.services.cancel.run(caller.tenant(), &id, reason).await?;
    envelope::one(ShownPayment::of(&payment, &call.state.services.pages.links))
}

fn parse_reason(body: &Value) -> Result<Option<String>, ApiError> {
    let mut problems = Problems::new();
    let reason = Fields::of_body(body)?.long_text("reason", MAX_REASON, &mut problems);
    // A reason that says nothing is none.
    let reason = reason.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    if problems.is_empty() { Ok(reason) } else { Err(problems.into()) }
}
