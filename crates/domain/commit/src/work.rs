//! What must happen later: rows of one table, written in the commit of what makes them necessary.

use quipu_kernel::{Tenant, Timestamp};

/// A queue of work, served by one kind of worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(pub &'static str);

impl Queue {
    /// Payments to be submitted, asked about or ended.
    pub const SETTLEMENT: Self = Self("settlement");
    /// `redirectpay` deposits that stay unresolved for so long that somebody should look.
    pub const REDIRECTPAY_ALERT: Self = Self("redirectpay_alert");
    /// Resolved tickets that close by themselves.
    pub const TICKET_CLOSING: Self = Self("ticket_closing");
    /// Attached pictures that need a small one.
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

/// Something to be done. There is at most one for each queue and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Where it waits.
    pub queue: Queue,
    /// What it is about: an identifier within the tenant of the change.
    pub subject: String,
    /// Not before.
    pub due: Timestamp,
    /// What is to be done, in the words of its worker; may be empty.
    pub action: &'static str,
}

/// What a change does to the work of its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkChange {
    /// Adds this work and replaces earlier work of the same queue and subject.
    Put(Work),
    /// The same, and the node that commits it does it at once. Others may do it as soon as that node has died, and at the
    /// latest when it is due.
    Take(Work),
    /// There is nothing more to do for this subject.
    Drop {
        /// In this queue.
        queue: Queue,
        /// For this.
        subject: String,
    },
    /// Whoever holds this claim puts it off, begun as often as the claim says. Nothing happens if the claim was lost.
    PutOff {
        /// The claim.
        claim: Claimed,
        /// Until when.
        due: Timestamp,
        /// What is to be done then.
        action: &'static str,
    },
    /// Whoever holds this claim has done it. Nothing happens if the claim was lost.
    Done(Claimed),
}

/// A piece of work in the hands of a worker of this node, by a claim or because the node is alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Where it waited.
    pub queue: Queue,
    /// Whose.
    pub tenant: Tenant,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    pub action: String,
    /// Since when it was due.
    pub due: Timestamp,
    /// How often it was begun, this time included.
    pub attempts: i32,
    /// Which writing of the row gave it to this worker: any later one takes it away.
    pub turn: i64,
}

/// What is due in a queue, as a node sees it that serves the queue alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueWork {
    /// The longest waiting first.
    pub work: Vec<Claimed>,
    /// When something else will be due; none if nothing waits that is not due yet.
    pub next: Option<Timestamp>,
}

/// How the work of one kind in a queue stands, for the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueState {
    /// Which.
    pub queue: Queue,
    /// What is to be done.
    pub action: String,
    /// How many wait whose time has come.
    pub overdue: u64,
    /// Since when the oldest of them waits.
    pub oldest: Option<Timestamp>,
}
