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
use quipu_tickets::TicketOffice;

/// How long a part may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The parts that a call needs, each under its own name.
pub(crate) struct Parts {
    store: Store,
    tickets: Arc<TicketOffice>,
    /// Only where limits are shared.
    shared_limiter: Option<Arc<dyn RateLimiter>>,
    /// Whether the schema was found complete. It stays so, since the migrations are part of this program.
    is_migrated: AtomicBool,
}

impl Parts {
    pub(crate) fn new(
        store: Store,
        tickets: Arc<TicketOffice>,
        shared_limiter: Option<Arc<dyn RateLimiter>>,
    ) -> Self {
        Self { store, tickets, shared_limiter, is_migrated: AtomicBool::new(false) }
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

#[async_trait]
impl Readiness for Parts {
    async fn probe(&self) -> Vec<(&'static str, bool)> {
        let database = answers(async { self.store.ping().await.is_ok() }, PATIENCE);
        let migrations = answers(self.is_migrated(), PATIENCE);
        let attachments = answers(self.tickets.files_ready(), PATIENCE);
        let (database, migrations, attachments) = tokio::join!(database, migrations, attachments);
        let mut parts =
            vec![("database", database), ("migrations", migrations), ("attachments", attachments)];
        if let Some(limiter) = &self.shared_limiter {
            let redis = async { limiter.probe().await.is_ok() };
            parts.push(("redis", answers(redis, PATIENCE).await));
        }
        parts
    }
}

/// Whether a part says yes in time. A server behind a broken network says nothing at all.
async fn answers(probe: impl Future<Output = bool>, patience: Duration) -> bool {
    tokio::time::timeout(patience, probe).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_says_nothing_is_not_ready() {
        assert!(answers(std::future::ready(true), PATIENCE).await);
        assert!(!answers(std::future::ready(false), PATIENCE).await);
        assert!(!answers(std::future::pending(), Duration::ZERO).await);
    }
}
