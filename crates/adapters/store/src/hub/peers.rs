//! Whether there may be other nodes on the same server.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use quipu_kernel::locked;

/// How long another node counts as present after it was last heard of. A node announces itself when it begins to listen, and
/// writes a heartbeat every two seconds.
const PRESENT: Duration = Duration::from_secs(10);

/// What is known of the other nodes.
#[derive(Default)]
pub(super) struct Peers(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Until when another node counts as present. Until the nodes have been counted there may be one.
    present_until: Option<Instant>,
    /// How many had a heartbeat at the last count.
    counted: i64,
}

impl Known {
    fn may_exist(&self) -> bool {
        self.present_until.is_none_or(|until| Instant::now() < until)
    }
}

impl Peers {
    /// Whether there may be another node.
    pub(super) fn may_exist(&self) -> bool {
        locked(&self.0).may_exist()
    }

    /// Notes that another node was heard of. Answers whether none was known before.
    pub(super) fn heard(&self) -> bool {
        let mut known = locked(&self.0);
        let were_absent = !known.may_exist();
        known.present_until = Some(Instant::now() + PRESENT);
        were_absent
    }

    /// Notes how many other nodes have a heartbeat. Answers whether there are fewer than before. If there are none, a node that
    /// was heard of still counts, since it may not have written a heartbeat yet.
    pub(super) fn counted(&self, count: i64) -> bool {
        let mut known = locked(&self.0);
        known.present_until.get_or_insert_with(Instant::now);
        count < std::mem::replace(&mut known.counted, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_may_be_others_until_they_are_counted_and_after_one_was_heard() {
        let peers = Peers::default();
        assert!(peers.may_exist());
        assert!(!peers.counted(0) && !peers.may_exist());
        assert!(peers.heard() && peers.may_exist());
        assert!(!peers.counted(0) && peers.may_exist(), "it has no heartbeat yet");
        assert!(!peers.heard() && !peers.counted(2) && peers.counted(1));
    }
}
