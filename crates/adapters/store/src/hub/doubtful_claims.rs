//! Deliveries of transactions with an unknown outcome.
//!
//! If such a transaction was committed, this node has claimed its deliveries without attempting them. They
//! are released after a while. The `COMMIT` may still be in progress then, so the release is repeated after
//! longer and longer pauses, until the deliveries were found or hours have passed.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use quipu_kernel::locked;

use quipu_webhooks::Owed;

/// How many times the deliveries are looked for. The pause doubles each time, from some seconds to some
/// hours.
const LOOKS: u32 = 12;

/// Deliveries that a transaction claims for this node. They may be set here after the caller has gone.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<Vec<Owed>>>);

impl Taken {
    /// Sets the deliveries.
    pub(crate) fn set(&self, owed: Vec<Owed>) {
        *locked(&self.0) = owed;
    }

    /// The deliveries; none if they were not set.
    pub(crate) fn get(&self) -> Vec<Owed> {
        locked(&self.0).clone()
    }
}

/// Deliveries that this node may have claimed without knowing it.
pub(crate) struct DoubtfulClaims {
    /// Held by whoever claims deliveries or releases those that are kept here, so that nothing is released that
    /// was claimed meanwhile.
    pub(crate) turn: tokio::sync::Mutex<()>,
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

impl DoubtfulClaims {
    /// The first look comes after `first_pause`.
    pub(crate) const fn new(first_pause: Duration) -> Self {
        Self { turn: tokio::sync::Mutex::const_new(()), first_pause, kept: Mutex::new(Vec::new()) }
    }

    /// Keeps the deliveries of a transaction.
    pub(crate) fn keep(&self, taken: Taken) {
        self.lock().push(Kept { taken, looks: 0, due: Instant::now() + self.first_pause });
    }

    /// Forgets deliveries that were claimed after all. To release them would take them from whoever has them
    /// in hand now.
    pub(crate) fn forget(&self, claimed: &[Owed]) {
        let kept = self.lock();
        if kept.is_empty() {
            return;
        }
        let key = |owed: &Owed| (owed.endpoint.id.clone(), owed.event_id.clone());
        let claimed: HashSet<_> = claimed.iter().map(key).collect();
        for kept in kept.iter() {
            locked(&kept.taken.0).retain(|owed| !claimed.contains(&key(owed)));
        }
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
    use quipu_kernel::{Environment, EventId, MerchantId, Tenant, Timestamp};
    use quipu_webhooks::{Endpoint, EndpointId, EventName, TargetUrl};

    use super::*;

    fn owed(event: &str) -> Owed {
        let (tenant, at) = (Tenant::new(MerchantId(1), Environment::Test), Timestamp::from_millis(0));
        let url = TargetUrl::restore("https://shop.example/".to_owned());
        let id = EndpointId::restore("wh_1".to_owned());
        Owed {
            endpoint: Arc::new(Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], at)),
            event_id: EventId::restore(event.to_owned()),
            payload: "{}".into(),
            attempts: Vec::new(),
            step: 0,
            due_at: at,
        }
    }

    #[test]
    fn what_was_claimed_after_all_is_not_looked_for() {
        let (claims, taken) = (DoubtfulClaims::new(Duration::ZERO), Taken::default());
        taken.set(vec![owed("evt_1"), owed("evt_2")]);
        claims.keep(taken);
        claims.forget(&[owed("evt_1"), owed("evt_3")]);
        let due = claims.take_due(Instant::now());
        let left: Vec<_> = due.iter().flat_map(|kept| kept.taken.get()).collect();
        assert_eq!(left.iter().map(|owed| owed.event_id.as_str()).collect::<Vec<_>>(), ["evt_2"]);
    }

    #[test]
    fn looks_become_rare_and_end() {
        let claims = DoubtfulClaims::new(Duration::from_secs(10));
        let begun = Instant::now();
        claims.lock().push(Kept { taken: Taken::default(), looks: 0, due: begun + Duration::from_secs(10) });
        let mut looks = Vec::new();
        for second in 0..200_000 {
            let now = begun + Duration::from_secs(second);
            for kept in claims.take_due(now) {
                looks.push(second);
                claims.not_found(kept, now);
            }
        }
        assert_eq!(looks, [10, 30, 70, 150, 310, 630, 1270, 2550, 5110, 10230, 20470, 40950]);
        assert!(claims.lock().is_empty());
    }
}
