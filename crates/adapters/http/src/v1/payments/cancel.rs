//! Cancelling a withdrawal that has not been submitted yet.

use quipu_payments::CancelReason;

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    pages::links::ShownPayment,
    request::{Call, Outcome},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let id = call.segment("id").parse().map_err(|_| ApiError::payment_not_found())?;
    // The payment is looked up before the body is read, so that no client sends one about another's payment.
    let found = call.state.services.payments.payment(caller.tenant(), &id).await?;
    found.ok_or_else(ApiError::payment_not_found)?;
    let reason = CancelReason::parse(&call.optional_json().await?)?;
    let payment = call.state.services.cancel.run(caller.tenant(), &id, reason).await?;
    envelope::one(ShownPayment::of(&payment, &call.state.services.pages.links))
}
