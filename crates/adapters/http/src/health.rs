//! Whether the process lives, and whether it can work (decisions, "Operation").

use actix_web::http::StatusCode;
use serde_json::{Map, json};

use crate::{
    call::{Call, Outcome},
    envelope,
};

/// `GET /healthz`: the process answers.
pub(crate) async fn alive(_call: Call) -> Outcome {
    envelope::json(StatusCode::OK, &json!({ "status": "ok" }))
}

/// `GET /readyz`: everything it depends on is there; 503 names what is not.
pub(crate) async fn ready(call: Call) -> Outcome {
    let probes = call.state.services.readiness.probe().await;
    let is_ready = probes.iter().all(|(_, is_there)| *is_there);
    let checks: Map<_, _> =
        probes.into_iter().map(|(name, is_there)| (name.to_owned(), is_there.into())).collect();
    let (status, text) =
        if is_ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "not_ready") };
    envelope::json(status, &json!({ "status": text, "checks": checks }))
}
