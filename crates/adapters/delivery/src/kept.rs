//! How much is kept in memory: deliveries or outcomes, and the bytes that they take.

use crate::pace::Pace;

/// A number of deliveries, or of their outcomes, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) deliveries: usize,
    pub(crate) bytes: usize,
}

impl Amount {
    pub(crate) const fn new(deliveries: usize, bytes: usize) -> Self {
        Self { deliveries, bytes }
    }

    pub(crate) const fn add(&mut self, more: Self) {
        self.deliveries += more.deliveries;
        self.bytes += more.bytes;
    }

    pub(crate) const fn subtract(&mut self, less: Self) {
        self.deliveries -= less.deliveries;
        self.bytes -= less.bytes;
    }

    /// One of so many bytes.
    pub(crate) const fn one(bytes: usize) -> Self {
        Self::new(1, bytes)
    }

    /// What is left of it if so much is used.
    pub(crate) const fn without(self, used: Self) -> Self {
        let (deliveries, bytes) = (self.deliveries, self.bytes);
        Self::new(deliveries.saturating_sub(used.deliveries), bytes.saturating_sub(used.bytes))
    }

    /// The lesser number and the lesser bytes.
    pub(crate) fn min(self, other: Self) -> Self {
        Self::new(self.deliveries.min(other.deliveries), self.bytes.min(other.bytes))
    }

    /// The greater number and the greater bytes.
    pub(crate) fn max(self, other: Self) -> Self {
        Self::new(self.deliveries.max(other.deliveries), self.bytes.max(other.bytes))
    }

    /// Whether nothing fits into it. Into any bytes a delivery fits, so that long ones go at all.
    pub(crate) const fn is_none(self) -> bool {
        self.deliveries == 0 || self.bytes == 0
    }

    /// Whether it is at most a third of the other, in number and in bytes.
    pub(crate) const fn is_little_beside(self, other: Self) -> bool {
        self.deliveries <= other.deliveries / 3 && self.bytes <= other.bytes / 3
    }
}

/// What an endpoint, a merchant or the node keeps in memory, what is in progress included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) in_all: Amount,
    /// What goes to endpoints that are unproven now.
    pub(crate) unproven: Amount,
}

impl Kept {
    /// So much to an endpoint of this pace.
    pub(crate) fn of(pace: Pace, amount: Amount) -> Self {
        Self { in_all: amount, unproven: if pace.is_unproven() { amount } else { Amount::default() } }
    }

    pub(crate) const fn add(&mut self, more: Self) {
        self.in_all.add(more.in_all);
        self.unproven.add(more.unproven);
    }

    pub(crate) const fn subtract(&mut self, less: Self) {
        self.in_all.subtract(less.in_all);
        self.unproven.subtract(less.unproven);
    }
}
