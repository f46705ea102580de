//! The state of the process's dependencies, and when it was last checked.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::sync::Mutex;

/// Whether a dependency is in order, or the trouble, in words that are safe to publish.
pub type Part = Result<(), Cow<'static, str>>;

/// Checks the dependencies of the process.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Each dependency by name, and whether it is in order.
    async fn probe(&self) -> Vec<(&'static str, Part)>;
}

/// For how long a result is reused: anyone may ask, and each check costs the database something.
const REMEMBERED: Duration = Duration::from_millis(100);

/// Each dependency, and whether it is in order.
type Probes = Vec<(&'static str, Part)>;

/// The last result. Callers during a check wait for its result and start no other.
#[derive(Default)]
pub(crate) struct LastLook(Mutex<Option<(Instant, Probes)>>);

impl LastLook {
    /// The present state, or a result that is at most `REMEMBERED` old.
    pub(crate) async fn look(&self, readiness: &dyn Readiness) -> Probes {
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
