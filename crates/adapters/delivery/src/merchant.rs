//! The turns of one merchant's endpoints. Quick endpoints have a line of their own, so that unproven ones cannot
//! delay them.

use std::collections::VecDeque;

use quipu_webhooks::EndpointId;

use crate::{
    kept::{Amount, Kept},
    pace::Pace,
};

/// The most attempts in progress where sockets are plenty.
pub const MOST_AT_ONCE: usize = 1_024;
const MIB: usize = 1024 * 1024;

/// The bounds on attempts in progress, and on deliveries and outcomes in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) in_all: usize,
    pub(crate) of_merchant: usize,
    /// Attempts to unproven endpoints.
    pub(crate) unproven: usize,
    /// The same bound for each merchant, so that the dead endpoints of a few merchants leave places for the new
    /// endpoints of others.
    pub(crate) unproven_of_merchant: usize,
    /// What is kept in memory.
    pub(crate) kept: Amount,
    /// The same bound for each merchant, which may have endpoints without number.
    pub(crate) kept_of_merchant: Amount,
    /// What is kept in memory for unproven endpoints.
    pub(crate) kept_unproven: Amount,
    /// The same bound for each merchant.
    pub(crate) kept_unproven_of_merchant: Amount,
    /// Outcomes that are not recorded yet; above this number no attempt begins.
    pub(crate) unrecorded: Amount,
    /// The same bound for each merchant.
    pub(crate) unrecorded_of_merchant: Amount,
}

impl Default for Places {
    fn default() -> Self {
        Self::for_attempts(MOST_AT_ONCE)
    }
}

impl Places {
    /// The bounds with so many attempts in progress.
    pub(crate) fn for_attempts(at_once: usize) -> Self {
        let at_once = at_once.max(8);
        Self {
            in_all: at_once,
            of_merchant: at_once / 8 * 3,
            unproven: at_once / 2,
            unproven_of_merchant: at_once / 8,
            kept: Amount::new(20_000, 256 * MIB),
            kept_of_merchant: Amount::new(5_000, 64 * MIB),
            kept_unproven: Amount::new(10_000, 128 * MIB),
            kept_unproven_of_merchant: Amount::new(2_500, 32 * MIB),
            unrecorded: Amount::new(16_384, 128 * MIB),
            unrecorded_of_merchant: Amount::new(4_096, 32 * MIB),
        }
    }
}

impl Places {
    /// How much more may be kept for endpoints of this pace, if the node and the merchant keep so much.
    pub(crate) fn free(&self, pace: Pace, in_all: Kept, of_merchant: Kept) -> Amount {
        let free = self.kept.without(in_all.in_all).min(self.kept_of_merchant.without(of_merchant.in_all));
        match pace {
            Pace::Quick => free,
            Pace::Unproven => free
                .min(self.kept_unproven.without(in_all.unproven))
                .min(self.kept_unproven_of_merchant.without(of_merchant.unproven)),
        }
    }

    /// How much is kept for unproven endpoints beyond their bounds. There may be some when a quick endpoint has
    /// become unproven.
    pub(crate) fn unproven_beyond(&self, in_all: Kept, of_merchant: Kept) -> Amount {
        let of_merchant = of_merchant.unproven.without(self.kept_unproven_of_merchant);
        in_all.unproven.without(self.kept_unproven).max(of_merchant)
    }
}

/// The state of a merchant.
#[derive(Debug, Default)]
pub(crate) struct Merchant {
    /// Quick endpoints that may send, in turn.
    quick: VecDeque<EndpointId>,
    /// Unproven endpoints that may send, in turn.
    unproven: VecDeque<EndpointId>,
    /// The line that had the last turn.
    last_turn: Pace,
    under_way: usize,
    unproven_under_way: usize,
    /// What is kept in memory.
    pub(crate) kept: Kept,
    /// Outcomes that are not recorded yet.
    pub(crate) unrecorded: Amount,
    /// Whether the merchant is among those that take turns.
    pub(crate) waits: bool,
    /// Whether the merchant waits for one of the places for unproven endpoints.
    pub(crate) is_parked: bool,
}

impl Merchant {
    /// Puts an endpoint at the end of the line for its pace.
    pub(crate) fn push(&mut self, endpoint: EndpointId, pace: Pace) {
        self.line_of(pace).push_back(endpoint);
    }

    const fn line_of(&mut self, pace: Pace) -> &mut VecDeque<EndpointId> {
        match pace {
            Pace::Quick => &mut self.quick,
            Pace::Unproven => &mut self.unproven,
        }
    }

    /// Moves an endpoint that waits for its turn to the line of quick ones.
    pub(crate) fn promote(&mut self, endpoint: &EndpointId) {
        if let Some(at) = self.unproven.iter().position(|waiting| waiting == endpoint) {
            self.quick.extend(self.unproven.remove(at));
        }
    }

    /// Whether an endpoint waits for its turn and may have it. `unproven_in_all` is the number of attempts in
    /// progress to unproven endpoints of all merchants.
    pub(crate) fn may_send(&self, places: &Places, unproven_in_all: usize) -> bool {
        self.under_way < places.of_merchant
            && !places.unrecorded_of_merchant.without(self.unrecorded).is_none()
            && (!self.quick.is_empty() || self.may_send_to_unproven(places, unproven_in_all))
    }

    fn may_send_to_unproven(&self, places: &Places, unproven_in_all: usize) -> bool {
        unproven_in_all < places.unproven
            && self.unproven_under_way < places.unproven_of_merchant
            && !self.unproven.is_empty()
    }

    /// The endpoint whose turn it is, and the line in which it waited. The two lines take turns.
    pub(crate) fn pop(&mut self, places: &Places, unproven_in_all: usize) -> Option<(EndpointId, Pace)> {
        if !self.may_send(places, unproven_in_all) {
            return None;
        }
        let unproven_go = self.last_turn.is_quick() && self.may_send_to_unproven(places, unproven_in_all);
        let line = if self.quick.is_empty() || unproven_go { Pace::Unproven } else { Pace::Quick };
        self.last_turn = line;
        self.line_of(line).pop_front().map(|endpoint| (endpoint, line))
    }

    /// Notes that an attempt begins, to an endpoint of this pace.
    pub(crate) fn begin(&mut self, pace: Pace) {
        self.under_way += 1;
        self.unproven_under_way += usize::from(pace.is_unproven());
    }

    /// Notes that an attempt is over that began at this pace, and whose outcome is still to be recorded.
    pub(crate) fn end(&mut self, pace: Pace, outcome: Amount) {
        self.under_way -= 1;
        self.unproven_under_way -= usize::from(pace.is_unproven());
        self.unrecorded.add(outcome);
    }

    /// Whether unproven endpoints wait for their turn.
    pub(crate) fn has_unproven(&self) -> bool {
        !self.unproven.is_empty()
    }

    /// Whether there is nothing to be remembered of it.
    pub(crate) fn is_idle(&self) -> bool {
        self.kept.in_all == Amount::default()
            && self.unrecorded == Amount::default()
            && self.quick.is_empty()
            && self.unproven.is_empty()
    }
}
