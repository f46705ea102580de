//! The page itself, and what a person sees instead of it.

use actix_web::{HttpResponse, http::StatusCode};
use quipu_pages::{Notice, PaymentPage, policy};

use super::visit::{Visit, words};
use crate::{
    call::{Call, Outcome},
    code::ErrorCode,
    error::ApiError,
    reply,
};

/// `GET /payment-pages/{token}`
pub(crate) async fn handle(call: Call) -> Outcome {
    match Visit::of(&call).await {
        Ok(visit) => {
            let page = PaymentPage::new(visit.view(call.now, None));
            Ok(reply::page(StatusCode::OK, policy(), page.html()))
        }
        Err(error) => instead(&call, error),
    }
}

/// A refusal in the reader's own language; what is our own fault stays an error.
pub(super) fn instead(call: &Call, error: ApiError) -> Outcome {
    let notice = match error.code() {
        ErrorCode::PageNotFound => Notice::NoPage,
        ErrorCode::Overloaded => Notice::Unavailable,
        _ => return Err(error),
    };
    Ok(notice_page(call, error.code(), notice))
}

pub(super) fn notice_page(call: &Call, code: ErrorCode, notice: Notice) -> HttpResponse {
    let html = notice.html(words(call), call.state.settings.root());
    reply::page(code.http_status(), policy(), html)
}
