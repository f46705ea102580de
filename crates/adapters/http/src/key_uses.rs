//! When keys were last used, kept without a write per request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use quipu_kernel::Timestamp;
use quipu_merchants::CallerBook;

/// How long a use may wait in memory.
const FLUSH_AFTER: Duration = Duration::from_secs(5);

/// Collects the last use of each key in memory. The first use after a flush sets the next one five seconds ahead, so that
/// nothing runs while nobody calls.
pub struct KeyUses {
    credentials: Arc<dyn CallerBook>,
    latest: Mutex<HashMap<String, Timestamp>>,
}

impl KeyUses {
    /// A collector that flushes into these credentials.
    pub fn new(credentials: Arc<dyn CallerBook>) -> Self {
        Self { credentials, latest: Mutex::default() }
    }

    /// Notes a use. Must be called on a thread of the server, where the flush can be started.
    pub(crate) fn note(self: &Arc<Self>, key_id: &str, at: Timestamp) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Writes what was noted. What cannot be written is dropped and said in the log: it is a hint for people, and the next use
    /// of the key brings it again.
    pub async fn flush(&self) {
        let noted = std::mem::take(&mut *self.latest.lock().unwrap_or_else(PoisonError::into_inner));
        if noted.is_empty() {
            return;
        }
        if let Err(error) = self.credentials.note_api_keys_used(noted.into_iter().collect()).await {
            tracing::warn!(%error, "when API keys were last used could not be written");
        }
    }
}

impl std::fmt::Debug for KeyUses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyUses(…)")
    }
}
