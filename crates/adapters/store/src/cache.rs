//! A cache of the look-ups that every call makes; each entry lives for one second.
//!
//! So a write of another node is seen after a second at most; usually a hint empties the cache before. A write of this node
//! empties it before it is acknowledged. A look-up that ran meanwhile may have found the former state, so its result is kept
//! only if nothing was written since it began.

use std::{
    borrow::Borrow,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use moka::sync::Cache as Memory;
use quipu_kernel::MerchantId;
use quipu_merchants::{ApiKeyRecord, HmacCredential, KeyEnvelope, Merchant, Operator, Route};

const LIFETIME: Duration = Duration::from_secs(1);
/// The most entries of each kind. The least used ones are dropped, so that a flood of unknown keys takes no
/// more memory than this.
const CAPACITY: u64 = 10_000;

type Key = Option<Arc<KeyEnvelope<ApiKeyRecord>>>;
type Credential = Option<Arc<KeyEnvelope<HmacCredential>>>;

/// The cache.
pub(crate) struct Cache {
    pub(crate) merchants: Memory<MerchantId, Option<Arc<Merchant>>>,
    pub(crate) keys_by_hash: Memory<String, Key>,
    pub(crate) keys_by_id: Memory<String, Key>,
    pub(crate) credentials: Memory<MerchantId, Arc<[Arc<KeyEnvelope<HmacCredential>>]>>,
    pub(crate) credentials_by_id: Memory<String, Credential>,
    pub(crate) operators: Memory<String, Option<Arc<Operator>>>,
    pub(crate) routes: Memory<MerchantId, Arc<[Route]>>,
    /// The number of writes so far.
    writes: RwLock<u64>,
}

fn memory<K, V>() -> Memory<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Memory::builder().max_capacity(CAPACITY).time_to_live(LIFETIME).build()
}

impl Cache {
    /// An empty cache.
    pub(crate) fn new() -> Self {
        Self {
            merchants: memory(),
            keys_by_hash: memory(),
            keys_by_id: memory(),
            credentials: memory(),
            credentials_by_id: memory(),
            operators: memory(),
            routes: memory(),
            writes: RwLock::new(0),
        }
    }

    /// The value of a key: from `memory` if it is there, and otherwise from `read`, whose result is kept.
    pub(crate) async fn get_or_read<K, Q, V, E>(
        &self,
        memory: &Memory<K, V>,
        key: &Q,
        read: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E>
    where
        K: Borrow<Q> + Hash + Eq + Send + Sync + 'static,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        V: Clone + Send + Sync + 'static,
    {
        if let Some(known) = memory.get(key) {
            return Ok(known);
        }
        let mark = self.mark();
        let found = read.await?;
        self.keep(memory, mark, key.to_owned(), found.clone());
        Ok(found)
    }

    /// The number of writes before a look-up.
    fn mark(&self) -> u64 {
        *self.writes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the result of a look-up, unless something was written since `mark`.
    fn keep<K, V>(&self, memory: &Memory<K, V>, mark: u64, key: K, value: V)
    where
        K: Hash + Eq + Send + Sync + 'static,
        V: Clone + Send + Sync + 'static,
    {
        let writes = self.writes.read().unwrap_or_else(PoisonError::into_inner);
        if *writes == mark {
            memory.insert(key, value);
        }
    }

    /// Forgets everything. Writes are rare here, and this way no stale entry can be overlooked.
    pub(crate) fn forget(&self) {
        let mut writes = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        *writes += 1;
        self.merchants.invalidate_all();
        self.keys_by_hash.invalidate_all();
        self.keys_by_id.invalidate_all();
        self.credentials.invalidate_all();
        self.credentials_by_id.invalidate_all();
        self.operators.invalidate_all();
        self.routes.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_remembered_for_longer_than_other_nodes_may_wait() {
        let cache = Cache::new();
        let lifetimes = [
            cache.merchants.policy().time_to_live(),
            cache.keys_by_hash.policy().time_to_live(),
            cache.keys_by_id.policy().time_to_live(),
            cache.credentials.policy().time_to_live(),
            cache.credentials_by_id.policy().time_to_live(),
            cache.operators.policy().time_to_live(),
            cache.routes.policy().time_to_live(),
        ];
        for lifetime in lifetimes {
            assert!(lifetime.is_some_and(|lifetime| lifetime < Duration::from_secs(2)), "{lifetime:?}");
        }
    }

    #[tokio::test]
    async fn what_was_read_before_a_write_is_not_kept() {
        let cache = Cache::new();
        let look_up = async |is_written: bool| {
            let read = async {
                if is_written {
                    cache.forget();
                }
                Ok::<_, ()>(None)
            };
            cache.get_or_read(&cache.operators, "hash", read).await.expect("read");
            cache.operators.contains_key("hash")
        };
        assert!(!look_up(true).await, "it may be what stood there before");
        assert!(look_up(false).await, "nothing was written meanwhile");
    }
}
