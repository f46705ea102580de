//! How far a round of pruning has come.

use std::sync::{Mutex, PoisonError};

/// The identifier up to which endpoints were looked at; empty at the beginning of a round.
#[derive(Default)]
pub(crate) struct Pruned(Mutex<String>);

impl Pruned {
    pub(crate) fn upto(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn move_to(&self, id: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}
