//! Idempotency keys that a request is working on: the first one, or a repeat.

use std::{collections::HashMap, sync::Mutex};

use quipu_commit::{IdempotencyKey, Nonce};
use quipu_kernel::{StoreError, Tenant, locked};

use crate::error::CreateError;

type Entry = (Tenant, IdempotencyKey);

/// The keys that this node is working on, each with the nonce that the request is about to use
/// up.
#[derive(Default)]
pub(crate) struct RunningKeys(Mutex<HashMap<Entry, Option<String>>>);

/// The most keys at a time; far more than the requests that a node works on at a time.
const MOST_RUNNING: usize = 1 << 16;

impl RunningKeys {
    /// Notes that work on a key begins. The work ends when the answer is dropped, however that happens.
    ///
    /// A copy of the running request itself is refused with `NonceUsed` at once. If it were refused because
    /// the key is in use, it would use up the nonce, perhaps before the first request does, and then neither
    /// would be accepted.
    pub(crate) fn enter(
        &self,
        tenant: Tenant,
        key: &IdempotencyKey,
        nonce: Option<&Nonce>,
    ) -> Result<Running<'_>, CreateError> {
        let entry = (tenant, key.clone());
        let nonce = nonce.map(|nonce| nonce.value.clone());
        let mut keys = locked(&self.0);
        if let Some(running) = keys.get(&entry) {
            let is_copy = nonce.is_some() && nonce == *running;
            return Err(if is_copy { CreateError::NonceUsed } else { CreateError::IdempotencyKeyInUse });
        }
        if keys.len() >= MOST_RUNNING {
            return Err(StoreError::Overloaded.into());
        }
        keys.insert(entry.clone(), nonce);
        Ok(Running { keys: self, entry })
    }
}

/// Running work on one key; it ends when this is dropped.
pub(crate) struct Running<'a> {
    keys: &'a RunningKeys,
    entry: Entry,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        locked(&self.keys.0).remove(&self.entry);
    }
}
