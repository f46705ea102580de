//! The page itself, and what a person sees instead of it.

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use quipu_pages::{Notice, PaymentPage, Place, policy};

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

/// To the page, after a form: it now says what became of it, and loading it again sends nothing again.
pub(super) fn see_page(place: &Place) -> HttpResponse {
    HttpResponse::build(StatusCode::SEE_OTHER)
        .insert_header((header::LOCATION, place.page()))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish()
}
