//! The write port of the store, the queue of work, and the keys that are used up.

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, StoreError, Timestamp};
use quipu_ledger::PostingError;

use crate::{
    changes::{Changes, Committed},
    name::{Holder, Name},
    work::{DueWork, Queue, QueueState, WorkInHand},
};

/// Why a [`Changes`] was refused. Nothing of it was applied, except its nonce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody else holds a name that the change was to take.
    #[error("the name {name:?} is held by {holder:?}")]
    NameTaken {
        /// The name that is held.
        name: Name,
        /// Its holder.
        holder: Holder,
    },
    /// A balance cannot bear the postings.
    #[error(transparent)]
    Posting(#[from] PostingError),
    /// An aggregate has changed since the decision read it; decide again.
    #[error("what was to be changed has changed meanwhile")]
    Stale,
    /// An answer under this key was kept meanwhile; look it up.
    #[error("the idempotency key has been used meanwhile")]
    IdempotencyKeyUsed,
    /// The nonce was used before.
    #[error("the nonce has been used")]
    NonceUsed,
}

/// Why a commit did not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// A rule refused the change.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// Whether an aggregate has changed since the decision read it.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Refused(Refusal::Stale))
    }
}

impl From<CommitError> for StoreError {
    /// The caller of a decision that others overtook each time may try again in a moment. A refusal that this caller
    /// cannot receive is an internal error.
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::Stale) => Self::Overloaded,
            CommitError::Refused(refusal) => Self::Failed(refusal.to_string()),
            CommitError::Store(error) => error,
        }
    }
}

/// The write path of every change that others have to be judged against: of money, payments and tickets.
#[async_trait]
pub trait Commit: Send + Sync {
    /// Applies `changes` whole or not at all, durably: when this answers, the change survives a crash.
    ///
    /// Judged in this order, against everything committed before and everything accepted earlier in the same batch:
    /// nonce, idempotency key, revisions, names, balances as they will be and as they are foreseen.
    /// Dropping the returned future does not undo anything.
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError>;

    /// Whether so many changes wait ahead of this merchant's that a new one should be refused before any work
    /// is done for it. The answer does not depend on whether there is such a merchant. Only a store with a
    /// queue can say so.
    fn is_pressed(&self, _merchant: MerchantId) -> bool {
        false
    }
}

/// The queue of work to be done later, over all tenants: how the nodes share it among themselves, by claims
/// and heartbeats, and how much of it is overdue.
///
/// A claim is a lease of this node: no other node gets the work while this node lives and the lease lasts, as long as
/// their clocks differ by less than [`MAX_CLOCK_SKEW`]. A node that has died loses its claims within ten seconds. A node
/// that was only paused finds its claims gone, and what it then puts off or reports as done changes nothing.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Claims up to `limit` pieces of work of a queue that are due at `now`, beginning with the work that has
    /// been due longest. The claim lasts for `lease` from `now` on. If nothing was committed for them by its
    /// end they are due again.
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<WorkInHand>, StoreError>;

    /// Up to `limit` pieces of work of a queue that are due at `now`, without a claim, beginning with the
    /// work that has been due longest. They are shown again until something is committed for them, and
    /// another node may do them meanwhile, so this is for work that may be done twice without harm. It
    /// answers nothing while other nodes live, since they would do the same work; then it has to be claimed.
    async fn due_here(&self, queue: Queue, now: Timestamp, limit: u32)
    -> Result<Option<DueWork>, StoreError>;

    /// Claims work that [`WorkQueue::due_here`] showed, until `lease_until`, as far as nobody has written or
    /// claimed it since. Work that the caller has claimed already may be given too: its lease is renewed, and it
    /// does not count as begun once more.
    async fn claim_shown(
        &self,
        shown: Vec<WorkInHand>,
        lease_until: Timestamp,
    ) -> Result<Vec<WorkInHand>, StoreError>;

    /// When the next work of a queue is due; `None` if there is none.
    async fn next_due(&self, queue: Queue) -> Result<Option<Timestamp>, StoreError>;

    /// The overdue work of all queues at `now`, counted by queue and action; a pair without such work is left out.
    /// Work is overdue if it is due and nobody has claimed it, or if it is held up and was due before.
    async fn queues(&self, now: Timestamp) -> Result<Vec<QueueState>, StoreError>;

    /// Completes when this queue may have new work that is due before `before`: after a commit of this node
    /// that added some, or when another node has said that it added some, whenever that is due. Work added
    /// since the last call also completes it, so a worker that calls [`WorkQueue::next_due`] in between and
    /// sleeps until then misses nothing. A queue has one such worker in a process.
    async fn woken(&self, queue: Queue, before: Timestamp);

    /// Writes this node's heartbeat; answers how long ago the one before was, by the clock of the database, `None` if the
    /// database knows of none: it is the first, or another node has taken this node for dead. An error means that others
    /// may do so. Called every two seconds.
    async fn beat(&self) -> Result<Option<Duration>, StoreError>;

    /// Releases the work of nodes that have not beaten for seven seconds, except locked rows, which are released
    /// later. After a time in which no node could beat, the caller waits until those that live have beaten again.
    async fn release_dead(&self) -> Result<(), StoreError>;

    /// Releases the claims of all nodes: for a database that one process alone serves, when it starts.
    async fn release_all(&self) -> Result<(), StoreError>;
}

/// How much the clocks of nodes may differ. What is deleted is deleted for all nodes, also for one whose clock is behind
/// and which would still accept the signature of an expired nonce. A lease of a node that lives is not over for others
/// before it has been over by their clocks for so long.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_mins(5);

/// The nonces and idempotency keys that have been used, over all tenants. They are kept until they expire.
#[async_trait]
pub trait UsedKeys: Send + Sync {
    /// Deletes nonces and kept answers that expired [`MAX_CLOCK_SKEW`] before `now`, at most `limit` of each; answers how
    /// many it deleted. Where nodes share a server, its clock counts if that of this node is ahead of it.
    async fn delete_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
