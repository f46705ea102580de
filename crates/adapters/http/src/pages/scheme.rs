//! The page that stands in for a payment scheme in the test environment.

use actix_web::http::StatusCode;
use quipu_kernel::{PaymentId, Problems};
use quipu_pages::{PageUrls, SchemeView, is_live, policy, scheme_page};
use quipu_payments::{PageLinks, SchemeDecision};

use super::{
    show::{instead, see_page},
    visit::{Visit, payment_of},
};
use crate::{
    answer::{ApiError, reply},
    request::{Call, Outcome},
};

/// `GET /simulated-scheme/{payment_id}`
pub(crate) async fn show(call: Call) -> Outcome {
    match visit(&call).await {
        Ok(visit) => Ok(page(&visit, None)),
        Err(error) => instead(&call, error),
    }
}

/// `POST /simulated-scheme/{payment_id}`: `decision` is `approve`, `decline` or `leave`.
pub(crate) async fn decide(call: Call) -> Outcome {
    let mut visit = match visit(&call).await {
        Ok(visit) => visit,
        Err(error) => return instead(&call, error),
    };
    let mut problems = Problems::new();
    let form = call.form().await?;
    let decision = form.text("decision", &mut problems).unwrap_or_default().parse::<SchemeDecision>();
    let decision = decision.map_err(|wrong| ApiError::Validation(Problems::of("decision", wrong)))?;
    let (tenant, id) = (visit.payment.terms().tenant, visit.payment.id().clone());
    call.state.services.pages.scheme.run(tenant, &id, decision).await?;
    if let Some(token) = call.state.services.pages.links.token_of(&visit.payment) {
        // Sends the payer back to the page, as a real scheme does.
        return Ok(see_page(&PageUrls::new(&visit.about.root, token.expose(), visit.words.language())));
    }
    visit.payment = payment_of(&call.state, tenant, &id).await?;
    Ok(page(&visit, Some(decision)))
}

async fn visit(call: &Call) -> Result<Visit, ApiError> {
    let id: PaymentId = call.segment("payment_id").parse().map_err(|_| ApiError::page_not_found())?;
    Visit::behind(call, &PageLinks::scheme_hash(&id), String::new()).await
}

fn page(visit: &Visit, decision: Option<SchemeDecision>) -> actix_web::HttpResponse {
    let path = PageLinks::scheme_path(visit.payment.id());
    let urls = &visit.payment.terms().return_urls;
    let succeeded = !is_live(visit.payment.status()) && visit.payment.state().completed_at.is_some();
    let back = if succeeded { &urls.success_url } else { &urls.cancel_url };
    let html = scheme_page(SchemeView {
        payment: &visit.payment,
        brand: &visit.about.brand,
        words: visit.words,
        root: &visit.about.root,
        path: &path,
        back: back.as_deref().filter(|_| !is_live(visit.payment.status())),
        decision,
    });
    reply::page(StatusCode::OK, policy(), html)
}
