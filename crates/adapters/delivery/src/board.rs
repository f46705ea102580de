//! The scheduler of deliveries. It chooses the next delivery so that no endpoint delays another, and a
//! merchant with many deliveries does not delay one with few.
//!
//! Merchants take turns, and so do the endpoints of a merchant. Attempts in progress and deliveries in memory
//! are bounded: in all, for each merchant, for each endpoint ([`EndpointQueue`]), and for unproven endpoints
//! ([`Pace`]), of each merchant and in all. What is in memory is bounded in number and in bytes. A dead endpoint
//! can take places only from other unproven ones, and the dead endpoints of one merchant only a quarter of
//! those.

mod follow;

use std::collections::{HashMap, HashSet, VecDeque};

use quipu_kernel::{MerchantId, Tenant, Timestamp};
use quipu_webhooks::{DeliveryKey, EndpointId, Outcome, Owed, Reception, Wanted};

use crate::{
    endpoint_queue::{Ending, EndpointQueue},
    kept::{Amount, Kept},
    merchant::{Merchant, Places},
    pace::Pace,
    recent_changes::RecentChanges,
    stale::Stale,
};

/// How many bytes are wanted with each delivery, on the average: a claim of short ones ends by their number.
const BYTES_EACH: usize = 16 * 1024;

/// A delivery being attempted, with what must be released when the attempt is over.
#[derive(Debug)]
pub(crate) struct Going {
    pub(crate) owed: Owed,
    /// The pace of its endpoint when it began: an unproven one has one of the places for unproven endpoints.
    pace: Pace,
}

/// What follows from the end of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Whether more deliveries to its endpoint should be fetched.
    pub(crate) wants_more: bool,
    /// Deliveries taken off the board, to be released.
    pub(crate) given_up: Vec<Owed>,
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
    /// What is under way, or whose outcome is still to be recorded.
    attempted: HashSet<DeliveryKey>,
    under_way: usize,
    unproven_under_way: usize,
    unrecorded: Amount,
    kept: Kept,
}

impl Board {
    pub(crate) fn with_places(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// How much more to an endpoint of a merchant the board accepts.
    fn room(&self, endpoint: &EndpointId, merchant: MerchantId) -> Amount {
        self.room_beside(endpoint, self.kept, self.kept_of(merchant)).1
    }

    /// The pace of an endpoint, and its room if the node and the merchant keep so much. No endpoint is
    /// filled beyond what it then leaves free, so that those of a merchant share its memory and a new one finds
    /// room.
    fn room_beside(&self, endpoint: &EndpointId, in_all: Kept, of_merchant: Kept) -> (Pace, Amount) {
        let unknown = EndpointQueue::default();
        let queue = self.queues.get(endpoint).map_or(&unknown, |(_, queue)| queue);
        let free = self.places.free(queue.pace(), in_all, of_merchant).without(queue.held());
        let half = Amount::new(free.deliveries.div_ceil(2), free.bytes.div_ceil(2));
        (queue.pace(), half.min(Amount::new(queue.room(), usize::MAX)))
    }

    fn kept_of(&self, merchant: MerchantId) -> Kept {
        self.merchants.get(&merchant).map_or_else(Kept::default, |merchant| merchant.kept)
    }

    /// What to fetch next, of endpoints for which the store has due deliveries: about `most` deliveries, all of
    /// which find room. Notes of the endpoints without room that the store has more.
    pub(crate) fn wanted(
        &mut self,
        endpoints: &mut impl Iterator<Item = (Tenant, EndpointId)>,
        most: u32,
    ) -> Vec<Wanted> {
        let (mut in_all, mut of_merchants) = (self.kept, HashMap::new());
        let (mut wanted, mut size) = (Vec::new(), 0);
        while size < most
            && let Some((tenant, endpoint)) = endpoints.next()
        {
            let merchant = tenant.merchant();
            let of_merchant = of_merchants.entry(merchant).or_insert_with(|| self.kept_of(merchant));
            let (pace, room) = self.room_beside(&endpoint, in_all, *of_merchant);
            if room.is_none() {
                self.note_stored(&endpoint);
                continue;
            }
            // What does not fit would be read, claimed and given back.
            let usual = self.queues.get(&endpoint).map_or(1, |(_, queue)| queue.usual_bytes.max(1));
            let fitting = room.deliveries.min(room.bytes.div_ceil(usual));
            let most = u32::try_from(fitting).unwrap_or(u32::MAX).min(most);
            let room = Amount::new(most as usize, room.bytes.min(most as usize * BYTES_EACH.max(usual)));
            for kept in [&mut in_all, of_merchant] {
                kept.add(Kept::of(pace, room));
            }
            size += most;
            wanted.push(Wanted { tenant, endpoint, most, bytes: room.bytes });
        }
        wanted
    }

    /// Accepts a delivery, or returns it if there is no room; more of its endpoint is then fetched later. If the
    /// delivery has its endpoint as it was before a change, the endpoint is read again before the attempt.
    pub(crate) fn take_in(&mut self, owed: Owed) -> Result<(), Owed> {
        let room = self.room(&owed.endpoint.id, owed.endpoint.tenant.merchant());
        self.take_into(room, owed)
    }

    /// The same for a delivery that was wanted. The bytes of a claim are bounded, and there was room for some; they
    /// are not compared again, or the longest would be claimed and given back again and again.
    pub(crate) fn take_in_wanted(&mut self, owed: Owed) -> Result<(), Owed> {
        let room = self.room(&owed.endpoint.id, owed.endpoint.tenant.merchant());
        self.take_into(Amount { bytes: usize::MAX, ..room }, owed)
    }

    fn take_into(&mut self, room: Amount, owed: Owed) -> Result<(), Owed> {
        let (id, merchant) = (owed.endpoint.id.clone(), owed.endpoint.tenant.merchant());
        if room.is_none() {
            self.note_stored(&id);
            return Err(owed);
        }
        if self.changes.contradict(&owed.endpoint) {
            self.stale.mark(id.clone());
        }
        self.queues.entry(id.clone()).or_insert_with(|| (merchant, EndpointQueue::default()));
        self.change(&id, |queue| queue.push(owed));
        self.wake(&id);
        Ok(())
    }

    /// Changes a queue, and accordingly what is counted as kept.
    fn change<T>(&mut self, id: &EndpointId, change: impl FnOnce(&mut EndpointQueue) -> T) -> Option<T> {
        let (merchant, queue) = self.queues.get_mut(id)?;
        let before = queue.kept();
        let changed = change(queue);
        for kept in [&mut self.kept, &mut self.merchants.entry(*merchant).or_default().kept] {
            kept.subtract(before);
            kept.add(queue.kept());
        }
        Some(changed)
    }

    /// Notes that the store may have more due deliveries to an endpoint. One that has nothing in hand needs no note:
    /// what it has in the store is looked for in any case.
    pub(crate) fn note_stored(&mut self, endpoint: &EndpointId) {
        if let Some((_, queue)) = self.queues.get_mut(endpoint) {
            queue.more_stored = true;
        }
    }

    /// The next delivery to attempt, if there is one and a place for it.
    pub(crate) fn next(&mut self) -> Option<Going> {
        for _ in 0..self.turns.len() {
            if self.under_way >= self.places.in_all
                || self.places.unrecorded.without(self.unrecorded).is_none()
            {
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
            self.attempted.insert(owed.key());
            self.under_way += 1;
            self.unproven_under_way += usize::from(pace.is_unproven());
            return Some(Going { owed, pace });
        }
        None
    }

    /// Marks a failure if its endpoint has succeeded since the attempt began, and remembers a success.
    pub(crate) fn compare(&mut self, mut outcome: Outcome) -> Outcome {
        if let Some((_, queue)) = self.queues.get_mut(&outcome.endpoint) {
            match &mut outcome.reception {
                Reception::Accepted => queue.succeeded_at = Some(outcome.ended_at),
                Reception::Failed { began_at, overtaken, .. } => {
                    *overtaken = queue.succeeded_at.is_some_and(|at| *began_at < at);
                }
            }
        }
        outcome
    }

    /// Notes that an attempt is over; its outcome, of so many bytes, is still to be recorded.
    pub(crate) fn ended(&mut self, going: &Going, ending: Ending, bytes: usize) -> Ended {
        let (id, merchant) = (&going.owed.endpoint.id, going.owed.endpoint.tenant.merchant());
        self.under_way -= 1;
        self.unproven_under_way -= usize::from(going.pace.is_unproven());
        if let Some(merchant) = self.merchants.get_mut(&merchant) {
            merchant.end(going.pace, Amount::one(bytes));
        }
        self.unrecorded.add(Amount::one(bytes));
        let ended = self.queue_ended(id, merchant, ending, going.owed.bytes());
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
        ended
    }

    /// Adapts the queue of an endpoint to the end of an attempt to send so many bytes.
    fn queue_ended(&mut self, id: &EndpointId, merchant: MerchantId, ending: Ending, bytes: usize) -> Ended {
        let paces = self.change(id, |queue| {
            let before = queue.pace();
            queue.ended(ending, bytes);
            (before, queue.pace())
        });
        let mut given_up = Vec::new();
        match paces {
            Some((before, Pace::Unproven)) => {
                let beyond = match before {
                    Pace::Quick => self.places.unproven_beyond(self.kept, self.kept_of(merchant)),
                    Pace::Unproven => Amount::default(),
                };
                given_up = self.change(id, |queue| queue.give_up(beyond)).unwrap_or_default();
            }
            Some((Pace::Unproven, Pace::Quick)) => {
                if let Some(merchant) = self.merchants.get_mut(&merchant) {
                    merchant.promote(id);
                }
            }
            _ => {}
        }
        let wants_more = self.wants_more(id, merchant);
        if let Some((_, queue)) = self.queues.get_mut(id) {
            // Fetching begins now; the fetch notes whether the store still has more.
            queue.more_stored &= !wants_more;
        }
        Ended { wants_more, given_up }
    }

    /// Whether an endpoint is running empty while the store may have more.
    fn wants_more(&self, id: &EndpointId, merchant: MerchantId) -> bool {
        let room = self.room(id, merchant);
        let queue = self.queues.get(id).map(|(_, queue)| queue);
        !room.is_none() && queue.is_some_and(|queue| queue.more_stored && queue.held().is_little_beside(room))
    }

    /// Notes that outcomes of a merchant, so many in all, have been recorded or given up.
    pub(crate) fn recorded(&mut self, id: MerchantId, outcomes: Amount, of: &[DeliveryKey]) {
        for key in of {
            self.attempted.remove(key);
        }
        self.unrecorded.subtract(outcomes);
        if let Some(merchant) = self.merchants.get_mut(&id) {
            merchant.unrecorded.subtract(outcomes);
        }
        self.wake_merchant(id);
    }

    /// Those of these deliveries that are not here.
    pub(crate) fn missing_of(&self, claimed: Vec<DeliveryKey>) -> HashSet<DeliveryKey> {
        let not_attempted = claimed.into_iter().filter(|key| !self.attempted.contains(key));
        let mut missing: HashSet<_> = not_attempted.collect();
        for (_, queue) in self.queues.values() {
            for owed in queue.waiting_here() {
                missing.remove(&owed.key());
            }
        }
        missing
    }

    /// Takes all deliveries off the board that are not being attempted.
    pub(crate) fn clear(&mut self) -> Vec<Owed> {
        let ids: Vec<_> = self.queues.keys().cloned().collect();
        ids.iter().filter_map(|id| self.change(id, EndpointQueue::drain)).flatten().collect()
    }

    /// The number of attempts in progress, and of deliveries that wait here for a place.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.under_way, self.kept.in_all.deliveries - self.under_way)
    }

    /// Forgets changes made some time before `now`, and endpoints without deliveries here, if there are very
    /// many.
    pub(crate) fn forget_old(&mut self, now: Timestamp) {
        const MANY: usize = 50_000;
        self.changes.forget_old(now);
        if self.queues.len() > MANY {
            self.queues.retain(|_, (_, queue)| queue.held().deliveries > 0);
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
