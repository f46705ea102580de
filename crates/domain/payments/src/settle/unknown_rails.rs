//! The rails that payments name and this node does not know.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use quipu_kernel::{Timestamp, locked};

/// The pause before the same rail is reported again.
const SILENT_FOR: Duration = Duration::from_mins(1);

/// When each of them was last reported. Thousands of payments may wait on one rail, and each is due every few
/// seconds.
#[derive(Default)]
pub(super) struct UnknownRails(Mutex<BTreeMap<String, Timestamp>>);

impl UnknownRails {
    /// Whether this rail should be reported now.
    pub(super) fn should_report(&self, name: &str, now: Timestamp) -> bool {
        let mut told = locked(&self.0);
        if told.get(name).is_some_and(|at| now < at.plus(SILENT_FOR)) {
            return false;
        }
        told.insert(name.to_owned(), now);
        true
    }
}
