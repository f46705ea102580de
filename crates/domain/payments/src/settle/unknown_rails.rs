//! Which rails this node was told to use and does not know.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use quipu_kernel::Timestamp;

/// How long nobody is told again.
const SILENT_FOR: Duration = Duration::from_mins(1);

/// When it was last told of each of them. Thousands of payments may wait on one, each of which comes again every few seconds.
#[derive(Default)]
pub(super) struct UnknownRails(Mutex<BTreeMap<String, Timestamp>>);

impl UnknownRails {
    /// Whether it is time to tell of this rail.
    pub(super) fn is_news(&self, name: &str, now: Timestamp) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.get(name).is_some_and(|at| now < at.plus(SILENT_FOR)) {
            return false;
        }
        told.insert(name.to_owned(), now);
        true
    }
}
