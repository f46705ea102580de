//! The recipient's form.

use actix_web::{HttpResponse, http::StatusCode};
use quipu_kernel::StoreError;
use quipu_pages::{Filled, PaymentPage, policy};
use quipu_payments::FillError;

use super::{
    show::{instead, see_page, wants_page},
    visit::Visit,
};
use crate::{
    answer::{ApiError, reply},
    request::{Call, Outcome},
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
    // A page that nobody has is refused before its form is read.
    Visit::of(call).await?;
    let (values, problems) = call.form().await?.into_members_of("payout");
    // The form may have been waited for, and the merchant suspended meanwhile.
    let visit = Visit::of(call).await?;
    let (tenant, id) = (visit.payment.terms().tenant, visit.payment.id().clone());
    let recipients = &call.state.services.pages.recipients;
    let filled = if visit.is_suspended {
        Err(FillError::MethodNotAvailable)
    } else if problems.is_empty() {
        recipients.run(tenant, &id, &values).await
    } else {
        Err(FillError::Invalid(problems))
    };
    match filled {
        Ok(()) => Ok(see_page(&visit.urls())),
        Err(FillError::Invalid(problems)) if wants_page(&call.request) => {
            let filled = Filled { values, problems: problems.into_messages() };
            Ok(page_with(StatusCode::BAD_REQUEST, &visit, call, &filled))
        }
        Err(error @ (FillError::NotAwaited | FillError::MethodNotAvailable)) if wants_page(&call.request) => {
            // Read again: an account was given meanwhile, the payment ended without one, or its route was disabled.
            let visit = Visit::of(call).await?;
            let filled = Filled { values, problems: Vec::new() };
            Ok(page_with(ApiError::from(error).code().http_status(), &visit, call, &filled))
        }
        Err(FillError::Store(StoreError::OutcomeUnknown(cause))) if wants_page(&call.request) => {
            tracing::warn!(
                cause,
                "it is not known whether an account was kept; the payer is led to the page, which shows it"
            );
            Ok(see_page(&visit.urls()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The page for a person whose entries were not taken.
fn page_with(status: StatusCode, visit: &Visit, call: &Call, filled: &Filled) -> HttpResponse {
    // The form may have been waited for.
    let now = call.state.services.clock.now();
    reply::page(status, policy(), PaymentPage::new(visit.view(now, Some(filled))).html())
}

/// `GET /payment-pages/{token}/recipient`, the address of the form's last answer: leads to the page, which has the
/// form as long as it is needed.
pub(crate) async fn show(call: Call) -> Outcome {
    match Visit::of(&call).await {
        Ok(visit) => Ok(see_page(&visit.urls())),
        Err(error) => instead(&call, error),
    }
}
