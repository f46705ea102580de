//! Liveness and readiness of the process (docs/OPERATIONS.md).

use actix_web::http::StatusCode;
use serde_json::{Map, json};

use crate::{
    answer::envelope,
    request::{Call, Outcome},
};

/// `GET /healthz`: 200 while the process answers.
pub(crate) async fn alive(_call: Call) -> Outcome {
    envelope::json(StatusCode::OK, &json!({ "status": "ok" }))
}

/// `GET /readyz`: 200 while all dependencies are in order; 503 names the failed ones, and why.
pub(crate) async fn ready(call: Call) -> Outcome {
    let probes = call.state.looked.look(call.state.services.readiness.as_ref()).await;
    let (mut checks, mut problems) = (Map::new(), Map::new());
    for (name, part) in probes {
        checks.insert(name.to_owned(), part.is_ok().into());
        if let Err(problem) = part {
            problems.insert(name.to_owned(), problem.into());
        }
    }
    if problems.is_empty() {
        return envelope::json(StatusCode::OK, &json!({ "status": "ready", "checks": checks }));
    }
    let told = json!({ "status": "not_ready", "checks": checks, "problems": problems });
    envelope::json(StatusCode::SERVICE_UNAVAILABLE, &told)
}
