//! What `/readyz` reports.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_http::Readiness;
use quipu_merchants::RateLimiter;
use quipu_store::Store;
use tokio::time::timeout;

/// Whoever asks wants to know now; a part that does not answer by then is not there.
const PATIENCE: Duration = Duration::from_secs(2);

/// The parts that a call needs, each under its own name.
pub(crate) struct Parts {
    store: Store,
    /// Only where limits are shared.
    shared_limiter: Option<Arc<dyn RateLimiter>>,
    /// Whether the schema was found complete. It stays so, since the migrations are part of this program.
    is_migrated: AtomicBool,
}

impl Parts {
    pub(crate) fn new(store: Store, shared_limiter: Option<Arc<dyn RateLimiter>>) -> Self {
        Self { store, shared_limiter, is_migrated: AtomicBool::new(false) }
    }

    async fn is_migrated(&self) -> bool {
        if self.is_migrated.load(Ordering::Relaxed) {
            return true;
        }
        let complete = self.store.pending_migrations().await.is_ok_and(|pending| !pending);
        self.is_migrated.store(complete, Ordering::Relaxed);
        complete
    }
}

/// Whether a part is there, and says so before anybody loses patience.
async fn in_time(part: impl Future<Output = bool>) -> bool {
    timeout(PATIENCE, part).await.unwrap_or(false)
}

#[async_trait]
impl Readiness for Parts {
    async fn probe(&self) -> Vec<(&'static str, bool)> {
        let database = in_time(async { self.store.ping().await.is_ok() }).await;
        let migrations = in_time(self.is_migrated()).await;
        let mut parts = vec![("database", database), ("migrations", migrations)];
        if let Some(limiter) = &self.shared_limiter {
            parts.push(("redis", in_time(async { limiter.probe().await.is_ok() }).await));
        }
        parts
    }
}
