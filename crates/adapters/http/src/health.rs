//! Whether the process lives, and whether it can work (docs/OPERATIONS.md).

use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use serde_json::{Map, json};
use tokio::sync::Mutex;

use crate::{
    call::{Call, Outcome},
    envelope,
    state::Readiness,
};

/// For how long what was found is answered again: anybody may ask, and each look costs the database something.
const REMEMBERED: Duration = Duration::from_secs(1);

/// Each dependency, and whether it is there.
type Probes = Vec<(&'static str, bool)>;

/// What was found when it was last looked. Whoever asks meanwhile waits for that look and makes no other.
#[derive(Default)]
pub(crate) struct LastLook(Mutex<Option<(Instant, Probes)>>);

impl LastLook {
    async fn look(&self, readiness: &dyn Readiness) -> Probes {
        let mut last = self.0.lock().await;
        if let Some((at, probes)) = &*last
            && at.elapsed() < REMEMBERED
        {
            return probes.clone();
        }
        let probes = readiness.probe().await;
        *last = Some((Instant::now(), probes.clone()));
        probes
    }
}

/// `GET /healthz`: the process answers.
pub(crate) async fn alive(_call: Call) -> Outcome {
    envelope::json(StatusCode::OK, &json!({ "status": "ok" }))
}

/// `GET /readyz`: everything it depends on is there; 503 names what is not.
pub(crate) async fn ready(call: Call) -> Outcome {
    let probes = call.state.looked.look(call.state.services.readiness.as_ref()).await;
    let is_ready = probes.iter().all(|(_, is_there)| *is_there);
    let checks: Map<_, _> =
        probes.into_iter().map(|(name, is_there)| (name.to_owned(), is_there.into())).collect();
    let (status, text) =
        if is_ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "not_ready") };
    envelope::json(status, &json!({ "status": text, "checks": checks }))
}
