//! The number of deliveries that are kept in memory.

use crate::pace::Pace;

/// How many deliveries an endpoint, a merchant or the node keeps in memory, those in progress included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) in_all: usize,
    /// Those to endpoints that are unproven now.
    pub(crate) unproven: usize,
}

impl Kept {
    /// So many deliveries to an endpoint of this pace.
    pub(crate) const fn of(pace: Pace, deliveries: usize) -> Self {
        Self { in_all: deliveries, unproven: if pace.is_unproven() { deliveries } else { 0 } }
    }

    pub(crate) const fn add(&mut self, more: Self) {
        self.in_all += more.in_all;
        self.unproven += more.unproven;
    }

    pub(crate) const fn subtract(&mut self, less: Self) {
        self.in_all -= less.in_all;
        self.unproven -= less.unproven;
    }
}
