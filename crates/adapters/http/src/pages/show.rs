//! The page itself, and the notice that replaces it after a refusal.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
};
use quipu_pages::{Notice, PageUrls, PaymentPage, policy};

use super::visit::{Visit, words};
use crate::{
    answer::{ApiError, ErrorCode, Family, reply},
    request::{Call, Outcome},
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

/// A refusal as a notice in the reader's language; other errors are returned as they are.
pub(crate) fn instead(call: &Call, error: ApiError) -> Outcome {
    let code = error.code();
    let notice = match code {
        ErrorCode::PageNotFound => Notice::NoPage,
        ErrorCode::RateLimited => Notice::TooMany,
        ErrorCode::Overloaded => Notice::Unavailable,
        _ => return Err(error),
    };
    let mut page = notice_page(call, code, notice);
    let plain = error.into_response(Family::Page, call.now);
    if let Some(after) = plain.headers().get(header::RETRY_AFTER) {
        page.headers_mut().insert(header::RETRY_AFTER, after.clone());
    }
    Ok(page)
}

/// Whether the client is a browser.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

fn notice_page(call: &Call, code: ErrorCode, notice: Notice) -> HttpResponse {
    let html = notice.html(words(call), call.state.settings.root());
    reply::page(code.http_status(), policy(), html)
}

/// Redirects to the page after a form: the page shows the outcome, and reloading it does not send the form
/// again.
pub(super) fn see_page(urls: &PageUrls) -> HttpResponse {
    HttpResponse::build(StatusCode::SEE_OTHER)
        .insert_header((header::LOCATION, urls.page()))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish()
}
