//! Idempotency keys that are being worked on.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use quipu_kernel::Tenant;
use quipu_merchants::StoreUnavailable;

use crate::{CreateError, IdempotencyKey};

/// The keys whose first request this node is working on.
#[derive(Default)]
pub(crate) struct RunningKeys(Mutex<HashSet<(Tenant, IdempotencyKey)>>);

/// How many there may be at once; far more than the requests that a node works on at once.
const MOST_RUNNING: usize = 1 << 16;

impl RunningKeys {
    /// Notes that work on a key has begun; it ends when the answer is dropped, however that comes about.
    pub(crate) fn enter(&self, tenant: Tenant, key: &IdempotencyKey) -> Result<Running<'_>, CreateError> {
        let entry = (tenant, key.clone());
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.contains(&entry) {
            return Err(CreateError::IdempotencyKeyInUse);
        }
        if keys.len() >= MOST_RUNNING {
            return Err(StoreUnavailable::Overloaded.into());
        }
        keys.insert(entry.clone());
        Ok(Running { keys: self, entry })
    }
}

/// Work on one key, under way until it is dropped.
pub(crate) struct Running<'a> {
    keys: &'a RunningKeys,
    entry: (Tenant, IdempotencyKey),
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.keys.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.entry);
    }
}
