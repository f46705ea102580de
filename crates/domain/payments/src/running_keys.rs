//! Idempotency keys that are being worked on.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use quipu_commit::{IdempotencyKey, Nonce};
use quipu_kernel::Tenant;
use quipu_merchants::StoreUnavailable;

use crate::error::CreateError;

type Entry = (Tenant, IdempotencyKey);

/// The keys whose first request this node is working on, each with the nonce which that request is about to burn.
#[derive(Default)]
pub(crate) struct RunningKeys(Mutex<HashMap<Entry, Option<String>>>);

/// How many there may be at once; far more than the requests that a node works on at once.
const MOST_RUNNING: usize = 1 << 16;

impl RunningKeys {
    /// Notes that work on a key has begun; it ends when the answer is dropped, however that comes about.
    ///
    /// A copy of the very request that is being worked on is `NonceUsed` already. Were it told that the key is in use, it
    /// would burn the nonce, perhaps before the first request does, and then neither would be accepted.
    pub(crate) fn enter(
        &self,
        tenant: Tenant,
        key: &IdempotencyKey,
        nonce: Option<&Nonce>,
    ) -> Result<Running<'_>, CreateError> {
        let entry = (tenant, key.clone());
        let nonce = nonce.map(|nonce| nonce.value.clone());
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = keys.get(&entry) {
            let is_copy = nonce.is_some() && nonce == *running;
            return Err(if is_copy { CreateError::NonceUsed } else { CreateError::IdempotencyKeyInUse });
        }
        if keys.len() >= MOST_RUNNING {
            return Err(StoreUnavailable::Overloaded.into());
        }
        keys.insert(entry.clone(), nonce);
        Ok(Running { keys: self, entry })
    }
}

/// Work on one key, under way until it is dropped.
pub(crate) struct Running<'a> {
    keys: &'a RunningKeys,
    entry: Entry,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.keys.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.entry);
    }
}
