//! Deliveries of transactions with an unknown outcome.
//!
//! If such a transaction was committed, this node has claimed its deliveries without attempting them. They
//! are released after a while. The `COMMIT` may still be in progress then, so the release is repeated after
//! longer and longer pauses, until the deliveries were found or hours have passed.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use quipu_webhooks::Owed;

use crate::lock::locked;

/// How many times the deliveries are looked for. The pause doubles each time, from some seconds to some
/// hours.
const LOOKS: u32 = 12;

/// Deliveries that a transaction claims for this node. They may be noted here after the caller has gone.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<Vec<Owed>>>);

impl Taken {
    /// Notes the deliveries.
    pub(crate) fn tell(&self, owed: Vec<Owed>) {
        *locked(&self.0) = owed;
    }

    /// The noted deliveries.
    pub(crate) fn told(&self) -> Vec<Owed> {
        locked(&self.0).clone()
    }
}

/// Deliveries that this node may have claimed without knowing it.
pub(crate) struct Unlearnt {
    first_pause: Duration,
    kept: Mutex<Vec<Kept>>,
}

/// The deliveries of one transaction.
pub(crate) struct Kept {
    /// The deliveries that it claimed, if it was committed.
    pub(crate) taken: Taken,
    looks: u32,
    due: Instant,
}

impl Unlearnt {
    /// The first look comes after `first_pause`.
    pub(crate) const fn new(first_pause: Duration) -> Self {
        Self { first_pause, kept: Mutex::new(Vec::new()) }
    }

    /// Keeps the deliveries of a transaction.
    pub(crate) fn keep(&self, taken: Taken) {
        self.lock().push(Kept { taken, looks: 0, due: Instant::now() + self.first_pause });
    }

    /// Takes the deliveries that are to be looked for at `now`.
    pub(crate) fn take_due(&self, now: Instant) -> Vec<Kept> {
        self.lock().extract_if(.., |kept| kept.due <= now).collect()
    }

    /// Keeps deliveries that were looked for at `now` and not found.
    pub(crate) fn not_found(&self, mut kept: Kept, now: Instant) {
        kept.looks += 1;
        if kept.looks < LOOKS {
            kept.due = now + self.first_pause * 2_u32.pow(kept.looks);
            self.lock().push(kept);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        locked(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_rare_and_end() {
        let unlearnt = Unlearnt::new(Duration::from_secs(10));
        let begun = Instant::now();
        unlearnt.lock().push(Kept {
            taken: Taken::default(),
            looks: 0,
            due: begun + Duration::from_secs(10),
        });
        let mut looks = Vec::new();
        for second in 0..200_000 {
            let now = begun + Duration::from_secs(second);
            for kept in unlearnt.take_due(now) {
                looks.push(second);
                unlearnt.not_found(kept, now);
            }
        }
        assert_eq!(looks, [10, 30, 70, 150, 310, 630, 1270, 2550, 5110, 10230, 20470, 40950]);
        assert!(unlearnt.lock().is_empty());
    }
}
