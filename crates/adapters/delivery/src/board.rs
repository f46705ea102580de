//! The scheduler of deliveries. It chooses the next delivery so that no endpoint delays another, and a
//! merchant with many deliveries does not delay one with few.
//!
//! Merchants take turns, and so do the endpoints of a merchant. Places are bounded: in all, for each merchant, for
//! each endpoint ([`EndpointQueue`]), and for unproven endpoints ([`Pace`]), of each merchant and in all. A dead
//! endpoint can take places only from other unproven ones, and the dead endpoints of one merchant only a quarter
//! of those.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use quipu_kernel::{MerchantId, Timestamp};
use quipu_webhooks::{Endpoint, EndpointId, Outcome, Owed};

use crate::{
    endpoint_queue::{Ending, EndpointQueue, Pace},
    merchant::{Merchant, Places},
    recent_changes::RecentChanges,
    stale::Stale,
};

/// A delivery being attempted, with what must be released when the attempt is over.
#[derive(Debug)]
pub(crate) struct Going {
    pub(crate) owed: Owed,
    /// The pace of its endpoint when it began: an unproven one has one of the places for unproven endpoints.
    pace: Pace,
}

/// All deliveries that this node has claimed.
#[derive(Debug, Default)]
pub(crate) struct Board {
    places: Places,
    queues: HashMap<EndpointId, (MerchantId, EndpointQueue)>,
    merchants: HashMap<MerchantId, Merchant>,
    /// Merchants with endpoints that may send, in turn.
    turns: VecDeque<MerchantId>,
    /// Merchants that wait for one of the places for unproven endpoints.
    parked: Vec<MerchantId>,
    stale: Stale,
    changes: RecentChanges,
    under_way: usize,
    unproven_under_way: usize,
    unrecorded: usize,
    kept: usize,
}

impl Board {
    pub(crate) fn with_places(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// How many more deliveries to an endpoint the board accepts.
    pub(crate) fn room(&self, endpoint: &EndpointId) -> usize {
        let queue = self.queues.get(endpoint);
        let room = queue.map_or_else(|| EndpointQueue::default().room(), |(_, queue)| queue.room());
        room.min(self.places.kept.saturating_sub(self.kept))
    }

    /// Accepts a delivery, or returns it if there is no room; more of its endpoint is then fetched later. If the
    /// delivery has its endpoint as it was before a change, the endpoint is read again before the attempt.
    pub(crate) fn take_in(&mut self, owed: Owed) -> Result<(), Owed> {
        if self.room(&owed.endpoint.id) == 0 {
            self.note_stored(owed.endpoint.id.clone(), owed.endpoint.tenant.merchant());
            return Err(owed);
        }
        let (id, merchant) = (owed.endpoint.id.clone(), owed.endpoint.tenant.merchant());
        if self.changes.contradict(&owed.endpoint) {
            self.stale.mark(id.clone());
        }
        let (_, queue) =
            self.queues.entry(id.clone()).or_insert_with(|| (merchant, EndpointQueue::default()));
        queue.push(owed);
        self.kept += 1;
        self.wake(&id);
        Ok(())
    }

    /// Notes that the store may have more due deliveries to an endpoint.
    pub(crate) fn note_stored(&mut self, endpoint: EndpointId, merchant: MerchantId) {
        let (_, queue) = self.queues.entry(endpoint).or_insert_with(|| (merchant, EndpointQueue::default()));
        queue.more_stored = true;
    }

    /// The next delivery to attempt, if there is one and a place for it.
    pub(crate) fn next(&mut self) -> Option<Going> {
        for _ in 0..self.turns.len() {
            if self.under_way >= self.places.in_all || self.unrecorded >= self.places.unrecorded {
                return None;
            }
            let id = self.turns.pop_front()?;
            let mut merchant = self.merchants.remove(&id)?;
            merchant.waits = false;
            let going = self.next_of(&mut merchant);
            self.merchants.insert(id, merchant);
            self.wake_merchant(id);
            if going.is_some() {
                return going;
            }
        }
        None
    }

    fn next_of(&mut self, merchant: &mut Merchant) -> Option<Going> {
        while let Some((id, line)) = merchant.pop(&self.places, self.unproven_under_way) {
            let Some((_, queue)) = self.queues.get_mut(&id) else { continue };
            queue.ready = false;
            if self.stale.holds(&id) || !queue.may_send() {
                continue;
            }
            let pace = queue.pace();
            // It has hung or answered slowly while it waited, and needs a place for unproven endpoints now.
            if pace.is_unproven() && line.is_quick() {
                queue.ready = true;
                merchant.push(id, pace);
                continue;
            }
            let Some(owed) = queue.take() else { continue };
            if queue.may_send() {
                queue.ready = true;
                merchant.push(id, pace);
            }
            merchant.begin(pace);
            self.under_way += 1;
            self.unproven_under_way += usize::from(pace.is_unproven());
            return Some(Going { owed, pace });
        }
        None
    }

    /// Marks a failure if its endpoint has succeeded since the attempt began, and remembers a success.
    pub(crate) fn compare(&mut self, mut outcome: Outcome) -> Outcome {
        if let Some((_, queue)) = self.queues.get_mut(&outcome.endpoint) {
            match outcome.failed_at {
                None => queue.succeeded_at = Some(outcome.ended_at),
                Some(began) => outcome.overtaken = queue.succeeded_at.is_some_and(|at| began < at),
            }
        }
        outcome
    }

    /// Notes that an attempt is over; its outcome is still to be recorded. Returns whether more deliveries to its
    /// endpoint should be fetched.
    pub(crate) fn ended(&mut self, going: &Going, ending: Ending) -> bool {
        let (id, merchant) = (&going.owed.endpoint.id, going.owed.endpoint.tenant.merchant());
        self.under_way -= 1;
        self.kept -= 1;
        self.unproven_under_way -= usize::from(going.pace.is_unproven());
        if let Some(merchant) = self.merchants.get_mut(&merchant) {
            merchant.end(going.pace);
        }
        self.unrecorded += 1;
        let mut wants_more = false;
        if let Some((_, queue)) = self.queues.get_mut(id) {
            let before = queue.pace();
            queue.ended(ending);
            if queue.ready
                && before.is_unproven()
                && queue.pace().is_quick()
                && let Some(merchant) = self.merchants.get_mut(&merchant)
            {
                merchant.promote(id);
            }
            wants_more = queue.wants_more();
            // Fetching begins now; the fetch notes whether the store still has more.
            queue.more_stored &= !wants_more;
        }
        self.wake(id);
        self.wake_merchant(merchant);
        if going.pace.is_unproven() {
            for id in std::mem::take(&mut self.parked) {
                if let Some(merchant) = self.merchants.get_mut(&id) {
                    merchant.is_parked = false;
                }
                self.wake_merchant(id);
            }
        }
        wants_more
    }

    /// Notes that `outcomes` outcomes of a merchant have been recorded or given up.
    pub(crate) fn recorded(&mut self, id: MerchantId, outcomes: usize) {
        self.unrecorded -= outcomes;
        if let Some(merchant) = self.merchants.get_mut(&id) {
            merchant.unrecorded -= outcomes;
        }
        self.wake_merchant(id);
    }

    /// Applies this node's own change of an endpoint: waiting deliveries go to its new address. If it is disabled,
    /// they are taken off the board and returned, to be released; they fail in the store, at once or when they
    /// are claimed.
    pub(crate) fn changed(&mut self, endpoint: &Arc<Endpoint>) -> Vec<Owed> {
        // A claim in progress may have read it before the change, so it is read once more.
        self.stale.mark(endpoint.id.clone());
        self.changes.note(&endpoint.id, Some(endpoint));
        self.follow(&endpoint.id, Some(endpoint))
    }

    /// Notes that another node has changed an endpoint, which waits until it has been read again.
    pub(crate) fn changed_elsewhere(&mut self, id: EndpointId) {
        self.stale.mark(id);
    }

    /// Other nodes may have changed any endpoint.
    pub(crate) fn any_changed_elsewhere(&mut self) {
        for id in self.queues.keys() {
            self.stale.mark(id.clone());
        }
    }

    /// Whether there are endpoints to read again.
    pub(crate) fn has_stale(&self) -> bool {
        self.stale.is_marked()
    }

    /// The endpoints to read again; they count as being read from now on.
    pub(crate) fn stale(&mut self) -> Vec<EndpointId> {
        self.stale.begin()
    }

    /// Applies an endpoint that was read again, `None` if it no longer exists. Returns the deliveries to
    /// release.
    pub(crate) fn was_read(&mut self, id: &EndpointId, endpoint: Option<&Arc<Endpoint>>) -> Vec<Owed> {
        if !self.stale.end(id) {
            return Vec::new();
        }
        self.changes.note(id, endpoint);
        self.follow(id, endpoint)
    }

    /// Notes that endpoints could not be read; they keep waiting.
    pub(crate) fn were_not_read(&mut self, ids: Vec<EndpointId>) {
        self.stale.fail(ids);
    }

    fn follow(&mut self, id: &EndpointId, endpoint: Option<&Arc<Endpoint>>) -> Vec<Owed> {
        let Some((_, queue)) = self.queues.get_mut(id) else { return Vec::new() };
        let waiting = queue.drain();
        let Some(endpoint) = endpoint.filter(|endpoint| endpoint.is_enabled()) else {
            self.kept -= waiting.len();
            return waiting;
        };
        for owed in waiting {
            queue.push(Owed { endpoint: Arc::clone(endpoint), ..owed });
        }
        self.wake(id);
        Vec::new()
    }

    /// Takes all deliveries off the board that are not being attempted.
    pub(crate) fn clear(&mut self) -> Vec<Owed> {
        let waiting: Vec<_> = self.queues.values_mut().flat_map(|(_, queue)| queue.drain()).collect();
        self.kept -= waiting.len();
        waiting
    }

    /// The number of attempts in progress, and of deliveries that wait here for a place.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.under_way, self.kept - self.under_way)
    }

    /// Forgets changes made some time before `now`, and endpoints without deliveries here, if there are very
    /// many.
    pub(crate) fn forget_old(&mut self, now: Timestamp) {
        const MANY: usize = 50_000;
        self.changes.forget_old(now);
        if self.queues.len() > MANY {
            self.queues.retain(|_, (_, queue)| queue.held() > 0);
            self.merchants.retain(|_, merchant| !merchant.is_idle());
        }
    }

    fn wake(&mut self, id: &EndpointId) {
        let Some((merchant, queue)) = self.queues.get_mut(id) else { return };
        let merchant = *merchant;
        if queue.may_send() && !queue.ready && !self.stale.holds(id) {
            queue.ready = true;
            self.merchants.entry(merchant).or_default().push(id.clone(), queue.pace());
        }
        self.wake_merchant(merchant);
    }

    fn wake_merchant(&mut self, id: MerchantId) {
        let unproven = self.unproven_under_way;
        let Some(merchant) = self.merchants.get_mut(&id) else { return };
        if merchant.waits {
            return;
        }
        if merchant.may_send(&self.places, unproven) {
            merchant.waits = true;
            self.turns.push_back(id);
        } else if unproven >= self.places.unproven && merchant.has_unproven() && !merchant.is_parked {
            merchant.is_parked = true;
            self.parked.push(id);
        }
    }
}

#[cfg(test)]
mod tests;
