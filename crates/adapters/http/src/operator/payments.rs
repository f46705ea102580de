//! Payments of every merchant.

use quipu_kernel::{Page, Problems};
use quipu_payments::{Payment, SearchFilter, operator_record, operator_timeline};
use serde_json::{Value, json};

use crate::{
    answer::{ApiError, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome, Query},
    v1::payments::list,
};

/// `GET /operator/v1/payments`, newest first.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let (filter, page) = parse(&call.query()?)?;
    let (payments, total) = call.state.services.all_payments.search_payments(&filter, page).await?;
    envelope::many(payments.iter().map(operator_record).collect(), total, page)
}

/// `GET /operator/v1/payments/{payment_id}`: the payment with its timeline.
pub(crate) async fn get(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let payment = found(&call).await?;
    envelope::one(whole(&call, &payment).await?)
}

/// A payment with its timeline.
pub(super) async fn whole(call: &Call, payment: &Payment) -> Result<Value, ApiError> {
    let timeline = call.state.services.all_payments.timeline(payment).await?;
    let mut shown = operator_record(payment);
    shown["alerted_at"] = json!(timeline.alerted_at);
    shown["timeline"] = operator_timeline(&timeline);
    Ok(shown)
}

/// The payment that the path names, of any merchant.
pub(super) async fn found(call: &Call) -> Result<Payment, ApiError> {
    let id = call.segment("payment_id").parse().map_err(|_| ApiError::payment_not_found())?;
    let payment = call.state.services.all_payments.find_payment(&id).await?;
    payment.ok_or_else(ApiError::payment_not_found)
}

fn parse(query: &Query) -> Result<(SearchFilter, Page), ApiError> {
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let filter = SearchFilter {
        merchant: query.merchant(&mut problems),
        environment: query.parsed("environment", &mut problems),
        rail: query.text("rail", &mut problems).map(str::to_owned),
        payment: list::filter(query, &mut problems),
    };
    problems.into_result()?;
    Ok((filter, page))
}
