//! The turns of one merchant's endpoints. Those known to answer quickly have a queue of their own, so that the
//! others cannot delay them.

use std::collections::VecDeque;

use quipu_webhooks::EndpointId;

/// The bounds on attempts in progress, and on deliveries and outcomes in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) in_all: usize,
    pub(crate) of_merchant: usize,
    /// Attempts to endpoints that are not known to answer quickly.
    pub(crate) of_others: usize,
    /// The same bound for each merchant, so that the dead endpoints of a few merchants do not fill the places
    /// for endpoints that nobody knows yet.
    pub(crate) of_others_of_merchant: usize,
    /// Deliveries kept in memory.
    pub(crate) kept: usize,
    /// Outcomes that are not recorded yet; above this number no attempt begins.
    pub(crate) unrecorded: usize,
    /// The same bound for each merchant.
    pub(crate) unrecorded_of_merchant: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            in_all: 1_024,
            of_merchant: 384,
            of_others: 512,
            of_others_of_merchant: 128,
            kept: 20_000,
            unrecorded: 16_384,
            unrecorded_of_merchant: 4_096,
        }
    }
}

/// The state of a merchant.
#[derive(Debug, Default)]
pub(crate) struct Merchant {
    /// Endpoints that may send, in turn.
    quick: VecDeque<EndpointId>,
    others: VecDeque<EndpointId>,
    is_turn_of_others: bool,
    under_way: usize,
    others_under_way: usize,
    /// Outcomes that are not recorded yet.
    pub(crate) unrecorded: usize,
    /// Whether the merchant is among those that take turns.
    pub(crate) waits: bool,
    /// Whether the merchant waits for one of the places for endpoints not known to be quick.
    pub(crate) is_parked: bool,
}

impl Merchant {
    /// Puts an endpoint at the end of its queue.
    pub(crate) fn push(&mut self, endpoint: EndpointId, is_quick: bool) {
        if is_quick { self.quick.push_back(endpoint) } else { self.others.push_back(endpoint) }
    }

    /// Moves an endpoint that waits for its turn to the queue of those known to be quick.
    pub(crate) fn promote(&mut self, endpoint: &EndpointId) {
        if let Some(at) = self.others.iter().position(|other| other == endpoint) {
            self.quick.extend(self.others.remove(at));
        }
    }

    /// Whether an endpoint waits for its turn and may have it. `others` says whether there is a place for one
    /// that is not known to be quick.
    pub(crate) fn may_send(&self, places: &Places, others: bool) -> bool {
        self.under_way < places.of_merchant
            && self.unrecorded < places.unrecorded_of_merchant
            && (!self.quick.is_empty() || self.may_send_to_others(places, others))
    }

    fn may_send_to_others(&self, places: &Places, others: bool) -> bool {
        others && self.others_under_way < places.of_others_of_merchant && !self.others.is_empty()
    }

    /// The endpoint whose turn it is, and whether it was in the queue of those known to be quick. The two queues
    /// take turns.
    pub(crate) fn pop(&mut self, places: &Places, others: bool) -> Option<(EndpointId, bool)> {
        if !self.may_send(places, others) {
            return None;
        }
        let others_go = self.is_turn_of_others && self.may_send_to_others(places, others);
        let is_quick = !self.quick.is_empty() && !others_go;
        self.is_turn_of_others = is_quick;
        let endpoint = if is_quick { self.quick.pop_front() } else { self.others.pop_front() };
        endpoint.map(|endpoint| (endpoint, is_quick))
    }

    /// Notes that an attempt begins, to an endpoint that is not known to be quick if `other`.
    pub(crate) fn begin(&mut self, other: bool) {
        self.under_way += 1;
        self.others_under_way += usize::from(other);
    }

    /// Notes that an attempt is over, whose outcome is still to be recorded.
    pub(crate) fn end(&mut self, other: bool) {
        self.under_way -= 1;
        self.others_under_way -= usize::from(other);
        self.unrecorded += 1;
    }

    /// Whether endpoints that are not known to be quick wait for their turn.
    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether there is nothing to be remembered of it.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.unrecorded == 0 && self.quick.is_empty() && self.others.is_empty()
    }
}
