//! A row of the work queue.

use quipu_kernel::{Tenant, Timestamp};

use crate::work::{Queue, Work, WorkInHand};

#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) work: Work,
    pub(super) due_at: Timestamp,
    /// When it was due before it was claimed.
    pub(super) due_since: Timestamp,
    pub(super) attempts: i32,
    pub(super) turn: i64,
    pub(super) leased: bool,
}

impl Waiting {
    /// The work as its next attempt has it in hand.
    pub(super) fn shown(&self, (queue, tenant, subject): &(Queue, Tenant, String)) -> WorkInHand {
        WorkInHand {
            queue: *queue,
            tenant: *tenant,
            subject: subject.clone(),
            action: self.work.action.to_owned(),
            due: self.due_since,
            attempts: self.attempts + 1,
            turn: self.turn,
        }
    }

    /// Gives the work back until it is `due`.
    pub(super) const fn give_back(&mut self, claim: &WorkInHand, due: Timestamp) {
        (self.attempts, self.due_at, self.leased) = (claim.attempts, due, false);
        self.turn += 1;
    }

    /// Whether it counts as overdue: its time has come, or had before it was held up.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.due_at <= now || !self.leased && self.due_since <= now
    }
}
