//! The progress of a round of pruning.

use std::sync::Mutex;

use quipu_kernel::locked;

/// The identifier up to which endpoints have been pruned; empty at the beginning of a round.
#[derive(Default)]
pub(crate) struct Pruned(Mutex<String>);

impl Pruned {
    pub(crate) fn upto(&self) -> String {
        locked(&self.0).clone()
    }

    pub(crate) fn move_to(&self, id: String) {
        *locked(&self.0) = id;
    }
}
