//! Room for the bodies of callers who are not known yet.

use std::{cell::RefCell, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that are counted as one.
const UNIT: usize = 1024;
/// Units that all strangers together may have held for them: 64 MiB.
const UNITS: usize = 64 * 1024;

/// A limit on the memory for the bodies of all unauthenticated callers together.
pub(crate) struct Strangers(Arc<Semaphore>);

impl Strangers {
    /// Room for the body of one of them. It takes none before something has come: whoever only announces a body must not keep
    /// the room from others.
    pub(crate) fn room(&self) -> Room {
        Room { of_all: Arc::clone(&self.0), held: RefCell::default() }
    }
}

/// The room that one body takes, until it is dropped.
pub(crate) struct Room {
    of_all: Arc<Semaphore>,
    held: RefCell<Option<OwnedSemaphorePermit>>,
}

impl Room {
    /// Takes room for so many bytes in all. Whether there is enough left.
    pub(crate) fn grow_to(&self, bytes: usize) -> bool {
        let mut held = self.held.borrow_mut();
        let has = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let lacks = bytes.div_ceil(UNIT).saturating_sub(has);
        let lacks = u32::try_from(lacks).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.of_all).try_acquire_many_owned(lacks) else { return false };
        match &mut *held {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        true
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
        let rooms: Vec<_> = (0..64).map(|_| strangers.room()).collect();
        let last = strangers.room();
        assert!(last.grow_to(1), "nobody holds anything yet");
        assert!(rooms[1..].iter().all(|room| room.grow_to(1) && room.grow_to(1024 * 1024)));
        assert!(rooms[0].grow_to(1023 * 1024));
        assert!(!rooms[0].grow_to(1023 * 1024 + 1));
        assert!(last.grow_to(1024), "as much as it has");
        assert!(!last.grow_to(1025));
        drop(rooms);
        assert!(last.grow_to(1025));
    }
}
