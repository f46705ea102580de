//! What the process depends on, and when it was last looked at.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::sync::Mutex;

/// Whether a dependency is in order, or what is wrong with it, in words that anybody may read.
pub type Part = Result<(), Cow<'static, str>>;

/// Whether what the process depends on is there.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Each dependency by name, and whether it is there.
    async fn probe(&self) -> Vec<(&'static str, Part)>;
}

/// For how long what was found is answered again: anybody may ask, and each look costs the database something.
const REMEMBERED: Duration = Duration::from_millis(100);

/// Each dependency, and whether it is in order.
type Probes = Vec<(&'static str, Part)>;

/// What was found when it was last looked. Whoever asks meanwhile waits for that look and makes no other.
#[derive(Default)]
pub(crate) struct LastLook(Mutex<Option<(Instant, Probes)>>);

impl LastLook {
    /// What is so now, or was so a moment ago.
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
