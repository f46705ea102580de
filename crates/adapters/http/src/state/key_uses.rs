//! The last use of each key, kept without a write for each request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use quipu_kernel::{Timestamp, locked};
use quipu_merchants::CallerBook;

/// How long a use may wait in memory.
const FLUSH_AFTER: Duration = Duration::from_secs(5);

/// Collects the last use of each key in memory. The first use after a flush schedules the next one in five
/// seconds, so that nothing runs while no calls arrive.
pub struct KeyUses {
    caller_book: Arc<dyn CallerBook>,
    latest: Mutex<HashMap<String, Timestamp>>,
}

impl KeyUses {
    /// A collector that flushes into this caller book.
    pub fn new(caller_book: Arc<dyn CallerBook>) -> Self {
        Self { caller_book, latest: Mutex::default() }
    }

    /// Notes a use. Must be called on a thread of the server, where the flush can be started.
    pub(crate) fn note(self: &Arc<Self>, key_id: &str, at: Timestamp) {
        let mut latest = locked(&self.latest);
        if let Some(last) = latest.get_mut(key_id) {
            *last = at.max(*last);
            return;
        }
        let is_first = latest.is_empty();
        latest.insert(key_id.to_owned(), at);
        drop(latest);
        if is_first {
            let uses = Arc::clone(self);
            actix_web::rt::spawn(async move {
                tokio::time::sleep(FLUSH_AFTER).await;
                uses.flush().await;
            });
        }
    }

    /// Writes the noted uses. Uses that cannot be written are dropped with a log line: they only inform
    /// people, and the next use of the key brings a newer one.
    pub async fn flush(&self) {
        let noted = std::mem::take(&mut *locked(&self.latest));
        if noted.is_empty() {
            return;
        }
        if let Err(error) = self.caller_book.note_api_keys_used(noted.into_iter().collect()).await {
            tracing::warn!(%error, "`last_used_at` of API keys could not be written");
        }
    }
}

impl std::fmt::Debug for KeyUses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyUses(…)")
    }
}
