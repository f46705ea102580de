//! The contents of a page as JSON.

use actix_web::http::StatusCode;
use quipu_pages::PageDetails;
use serde::Serialize;

use super::visit::Visit;
use crate::{
    answer::envelope,
    request::{Call, Outcome},
};

/// The contents at the top level, as in the answer to a creation, and again as `data`, as in every other
/// read.
#[derive(Serialize)]
struct Details<'a> {
    success: bool,
    data: &'a PageDetails<'a>,
    #[serde(flatten)]
    members: &'a PageDetails<'a>,
}

/// `GET /payment-pages/{token}/details`
pub(crate) async fn handle(call: Call) -> Outcome {
    let visit = Visit::of(&call).await?;
    let details = PageDetails::new(visit.view(call.now, None));
    envelope::json(StatusCode::OK, &Details { success: true, data: &details, members: &details })
}
