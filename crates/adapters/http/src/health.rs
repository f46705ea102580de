//! Whether the process lives, and whether it can work (docs/OPERATIONS.md).

use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use serde_json::{Map, json};
use tokio::sync::Mutex;

use crate::{
    call::{Call, Outcome},
    envelope,
    state::{Part, Readiness},
};

/// For how long what was found is answered again: anybody may ask, and each look costs the database something.
const REMEMBERED: Duration = Duration::from_secs(1);

/// Each dependency, and whether it is in order.
type Probes = Vec<(&'static str, Part)>;

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

/// `GET /readyz`: everything it depends on is there; 503 names what is not, and why.
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
