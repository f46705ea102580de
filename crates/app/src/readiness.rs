//! What `/readyz` reports.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_http::Readiness;
use quipu_merchants::RateLimiter;
use quipu_store::Store;

/// The parts that a call needs, each under its own name.
pub(crate) struct Parts {
    pub(crate) store: Store,
    /// Only where limits are shared.
    pub(crate) shared_limiter: Option<Arc<dyn RateLimiter>>,
}

#[async_trait]
impl Readiness for Parts {
    async fn probe(&self) -> Vec<(&'static str, bool)> {
        let (database, pending) = tokio::join!(self.store.ping(), self.store.pending_migrations());
        let mut parts =
            vec![("database", database.is_ok()), ("migrations", pending.is_ok_and(|pending| !pending))];
        if let Some(limiter) = &self.shared_limiter {
            parts.push(("redis", limiter.probe().await.is_ok()));
        }
        parts
    }
}
