//! Room for the bodies of callers who are not known yet.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that are counted as one.
const UNIT: u64 = 1024;
/// Units that all strangers together may have held for them: 64 MiB.
const UNITS: usize = 64 * 1024;

/// A bound on the bytes that are held for callers who have not shown who they are: whatever they send, it is no more.
pub(crate) struct Strangers(Arc<Semaphore>);

impl Strangers {
    /// Room for a body of so many bytes, until what is answered is dropped; nothing if there is none left.
    pub(crate) fn room_for(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        Arc::clone(&self.0).try_acquire_many_owned(units).ok()
    }
}

impl Default for Strangers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(UNITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_share_a_bound_and_give_back_what_they_held() {
        let strangers = Strangers::default();
        let held: Vec<_> = (0..64).map(|_| strangers.room_for(1024 * 1024)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(strangers.room_for(1).is_none());
        drop(held);
        assert!(strangers.room_for(1).is_some());
    }
}
