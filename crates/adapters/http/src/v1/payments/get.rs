//! Reading one payment.

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    pages::links::ShownPayment,
    request::{Call, Outcome},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let id = call.segment("id").parse().map_err(|_| ApiError::payment_not_found())?;
    let payment = call.state.services.payments.payment(caller.tenant(), &id).await?;
    let payment = payment.ok_or_else(ApiError::payment_not_found)?;
    envelope::one(ShownPayment::of(&payment, &call.state.services.pages.links))
}
