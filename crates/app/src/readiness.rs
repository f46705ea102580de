//! The readiness check behind `/readyz`.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_http::{Part, Readiness};
use quipu_merchants::RateLimiter;
use quipu_store::Store;
use quipu_tickets::TicketOffice;

/// How long a part may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The parts that a call needs, each under its own name.
pub(crate) struct Parts {
    store: Store,
    tickets: Arc<TicketOffice>,
    /// Only if nodes share their limits.
    shared_limiter: Option<Arc<dyn RateLimiter>>,
    /// Whether the schema was found complete. It stays complete, since the migrations are part of this
    /// program.
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

    async fn is_migrated(&self) -> Result<(), &'static str> {
        if self.is_migrated.load(Ordering::Relaxed) {
            return Ok(());
        }
        let pending = self.store.pending_migrations().await;
        if pending.map_err(|_| "the schema cannot be read")? {
            return Err("the schema is not complete; see `quipu migrate`");
        }
        self.is_migrated.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl Readiness for Parts {
    async fn probe(&self) -> Vec<(&'static str, Part)> {
        let database = answers(self.store.probe(), PATIENCE);
        let migrations = answers(self.is_migrated(), PATIENCE);
        let files = answers(self.tickets.files_ready(), PATIENCE);
        let (database, migrations, files) = tokio::join!(database, migrations, files);
        let mut parts = vec![("database", database), ("migrations", migrations), ("attachments", files)];
        if let Some(limiter) = &self.shared_limiter {
            let redis = async { limiter.probe().await.map_err(|_| "limits are not shared") };
            parts.push(("redis", answers(redis, PATIENCE).await));
        }
        parts
    }
}

/// The answer of a part, or an error if there is none in time. A server behind a broken network does not
/// answer at all.
async fn answers<E: Into<Cow<'static, str>>>(
    probe: impl Future<Output = Result<(), E>>,
    patience: Duration,
) -> Part {
    match tokio::time::timeout(patience, probe).await {
        Ok(said) => said.map_err(Into::into),
        Err(_) => Err(format!("it does not answer within {} s", patience.as_secs()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_says_nothing_is_not_ready() {
        let said = |said: Result<(), &'static str>| std::future::ready(said);
        assert!(answers(said(Ok(())), PATIENCE).await.is_ok());
        assert_eq!(answers(said(Err("it is gone")), PATIENCE).await, Err("it is gone".into()));
        let nothing = std::future::pending::<Result<(), &'static str>>();
        assert!(answers(nothing, Duration::ZERO).await.is_err());
    }
}
