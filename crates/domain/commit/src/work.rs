//! Work to be done later: rows of one table, written in the commit that makes the work necessary.

use std::time::Duration;

use quipu_kernel::{Tenant, Timestamp};

/// A queue of work, served by one kind of worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(pub &'static str);

impl Queue {
    /// Payments to be submitted to a rail, asked about, or ended.
    pub const SETTLEMENT: Self = Self("settlement");
    /// `redirectpay` deposits that stay unresolved for so long that somebody should look.
    pub const REDIRECTPAY_ALERT: Self = Self("redirectpay_alert");
    /// Resolved tickets that close by themselves.
    pub const TICKET_CLOSING: Self = Self("ticket_closing");
    /// Attached pictures that need a thumbnail.
    pub const THUMBNAILS: Self = Self("thumbnails");
    /// Uploads whose files are to be deleted unless a comment uses them.
    pub const UPLOADS: Self = Self("uploads");
    /// Every queue: each has one wake-up and one line in the metrics. A queue that is not named here is never served.
    pub const ALL: &'static [Self] =
        &[Self::SETTLEMENT, Self::REDIRECTPAY_ALERT, Self::TICKET_CLOSING, Self::THUMBNAILS, Self::UPLOADS];

    /// The queue of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|queue| queue.0 == name)
    }
}

/// A piece of work. There is at most one for each queue and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The queue that it waits in.
    pub queue: Queue,
    /// What it is about: an identifier within the tenant of the change.
    pub subject: String,
    /// The earliest time to do it (UTC).
    pub due: Timestamp,
    /// What is to be done, in the words of its worker; may be empty.
    pub action: &'static str,
}

impl Work {
    /// Work of a queue whose worker does one thing only, so that its action is empty.
    pub fn plain(queue: Queue, subject: impl Into<String>, due: Timestamp) -> Self {
        Self { queue, subject: subject.into(), due, action: "" }
    }
}

/// How far ahead work that could not begin is tried again, at most.
pub const LONGEST_HOLD_UP: Duration = Duration::from_secs(20);

/// What a change does to the work of its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkChange {
    /// Adds this work and replaces earlier work of the same queue and subject.
    Put(Work),
    /// The same, and the node that commits it does it at once. Other nodes may do it once that node has died,
    /// and at the latest when it is due.
    Take(Work),
    /// Removes the work of this subject.
    Drop {
        /// The queue of the work.
        queue: Queue,
        /// The subject of the work.
        subject: String,
    },
    /// The holder of this claim puts the work off; the number of attempts stays that of the claim. Nothing
    /// happens if the claim was lost.
    PutOff {
        /// The claim that the worker holds.
        claim: WorkInHand,
        /// The earliest time to do it again (UTC).
        due: Timestamp,
        /// What is to be done then, in the words of its worker.
        action: &'static str,
    },
    /// The holder of this claim could not begin the work, and tries it again at `due`, soon. Its original
    /// due time is kept, so that the delay shows as overdue. Nothing happens if the claim was lost.
    HoldUp {
        /// The claim that the worker holds.
        claim: WorkInHand,
        /// The earliest time to try it again (UTC), at most [`LONGEST_HOLD_UP`] ahead.
        due: Timestamp,
    },
    /// The holder of this claim has done the work, which is removed. Nothing happens if the claim was lost.
    Done(WorkInHand),
}

/// A piece of work that a worker of this node has in hand, by a claim or because the node is alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkInHand {
    /// The queue that it comes from.
    pub queue: Queue,
    /// The tenant that owns its subject.
    pub tenant: Tenant,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    pub action: String,
    /// The time since which it is due (UTC).
    pub due: Timestamp,
    /// How often it was begun, including this time.
    pub attempts: i32,
    /// The number of the write of the row that gave it to this worker; a later write takes it away.
    pub turn: i64,
}

/// The due work of a queue, as a node sees it that serves the queue alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueWork {
    /// The due work, beginning with the work that has been due longest.
    pub work: Vec<WorkInHand>,
    /// When other work will be due; `None` if there is none.
    pub next: Option<Timestamp>,
}

/// The state of the work of one queue and action, for the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    /// The queue.
    pub queue: Queue,
    /// What is to be done.
    pub action: String,
    /// The number of pieces of work that are overdue: due and not claimed, or held up.
    pub overdue: u64,
    /// The time since which the oldest of them is due (UTC).
    pub oldest: Option<Timestamp>,
}
