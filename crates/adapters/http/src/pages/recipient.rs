//! The recipient's form.

use actix_web::http::StatusCode;
use quipu_pages::{Filled, Notice, PaymentPage, policy};
use quipu_payments::FillError;

use super::{
    show::{instead, notice_page, see_page, wants_page},
    visit::Visit,
};
use crate::{
    call::{Call, Outcome},
    error::ApiError,
    error_code::ErrorCode,
    reply,
};

/// `POST /payment-pages/{token}/recipient`. A browser is answered with a page, any other client with JSON.
pub(crate) async fn handle(call: Call) -> Outcome {
    let outcome = fill(&call).await;
    match outcome {
        Err(error) if wants_page(&call.request) => instead(&call, error),
        other => other,
    }
}

async fn fill(call: &Call) -> Outcome {
    let visit = Visit::of(call).await?;
    let (values, problems) = call.form().await?.into_members();
    let (tenant, id) = (visit.payment.terms().tenant, visit.payment.id().clone());
    let recipients = &call.state.services.pages.recipients;
    let filled = if problems.is_empty() {
        recipients.run(tenant, &id, &values).await
    } else {
        Err(FillError::Invalid(problems))
    };
    match filled {
        Ok(()) => Ok(see_page(&visit.place())),
        Err(FillError::Invalid(problems)) if wants_page(&call.request) => {
            let filled = Filled { values, problems: problems.into_messages() };
            let page = PaymentPage::new(visit.view(call.now, Some(&filled)));
            Ok(reply::page(StatusCode::BAD_REQUEST, policy(), page.html()))
        }
        Err(FillError::NotAwaited) if wants_page(&call.request) => not_awaited(call).await,
        Err(error) => Err(error.into()),
    }
}

/// The page for a person who comes too late: an account was given already, or the payment ended without one.
async fn not_awaited(call: &Call) -> Outcome {
    let visit = Visit::of(call).await?;
    if visit.payment.state().payout.is_some() {
        return Ok(notice_page(call, ErrorCode::PaymentAlreadyProcessed, Notice::AlreadyGiven));
    }
    let page = PaymentPage::new(visit.view(call.now, None));
    Ok(reply::page(ErrorCode::PaymentAlreadyProcessed.http_status(), policy(), page.html()))
}

impl From<FillError> for ApiError {
    fn from(error: FillError) -> Self {
        match error {
            FillError::NotFound => super::visit::page_not_found(),
            FillError::Invalid(problems) => Self::Validation(problems),
            FillError::NotAwaited => Self::refused(ErrorCode::PaymentAlreadyProcessed, error.to_string()),
            FillError::MethodNotAvailable => Self::refused(ErrorCode::MethodNotAvailable, error.to_string()),
            FillError::Store(error) => error.into(),
        }
    }
}
