//! The write port of the store, and the queue of work.

use async_trait::async_trait;
use quipu_kernel::{Tenant, Timestamp};
use quipu_ledger::PostingError;
use quipu_merchants::StoreUnavailable;

use crate::{
    changes::{Changes, Committed},
    name::{Holder, Name},
    work::{Claimed, DueWork, Queue, QueueState},
};

/// Why a [`Changes`] was not applied. Nothing of it was, except its nonce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another holds a name that was to be taken.
    #[error("the name {name:?} is held by {holder:?}")]
    NameTaken {
        /// The name.
        name: Name,
        /// Who holds it.
        holder: Holder,
    },
    /// A balance cannot bear the postings.
    #[error(transparent)]
    Posting(#[from] PostingError),
    /// Something no longer stands where the decision found it; decide again.
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
    /// A rule refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store refused it or failed.
    #[error(transparent)]
    Store(#[from] StoreUnavailable),
}

impl From<CommitError> for StoreUnavailable {
    /// Converts a refusal that this caller cannot receive into an internal error.
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(refusal) => Self::Failed(refusal.to_string()),
            CommitError::Store(error) => error,
        }
    }
}

/// The write path.
#[async_trait]
pub trait Commit: Send + Sync {
    /// Applies `changes` whole or not at all, durably: when this answers, the change survives a crash.
    ///
    /// Judged in this order, against everything committed before and everything accepted earlier in the same batch:
    /// nonce, idempotency key, revisions, names, balances as they will be and as they are foreseen.
    /// Dropping the returned future does not undo anything.
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError>;

    /// Whether so many changes wait before those of this tenant that a new one should be refused before anybody works for it.
    /// Only a store with a queue can say so.
    fn is_pressed(&self, _tenant: Tenant) -> bool {
        false
    }
}

/// Work that waits, over all tenants.
///
/// A claim is a lease of this node: nobody else gets the work while the node lives and the lease lasts. A node that has
/// died loses its claims within ten seconds; one that only paused finds them gone, and what it then puts off or
/// reports as done changes nothing.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Takes up to `limit` pieces of work of a queue whose time has come at `now`, the longest waiting first, until
    /// `lease_until`. If nothing was committed for them by then they are due again.
    async fn claim(
        &self,
        queue: Queue,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<Claimed>, StoreUnavailable>;

    /// What is due in a queue at `now`, at most `limit` and the longest waiting first, without a claim. It is shown again until
    /// something is committed for it, and another node may do it meanwhile: for work that may be done twice without harm.
    /// Nothing at all while other nodes are there, which would do the same work; then it has to be claimed.
    async fn due_here(
        &self,
        queue: Queue,
        now: Timestamp,
        limit: u32,
    ) -> Result<Option<DueWork>, StoreUnavailable>;

    /// Claims what [`WorkQueue::due_here`] showed, until `lease_until`. What was written or claimed meanwhile is left out.
    async fn claim_shown(
        &self,
        shown: Vec<Claimed>,
        lease_until: Timestamp,
    ) -> Result<Vec<Claimed>, StoreUnavailable>;

    /// When the next work of a queue is due; none if nothing waits.
    async fn next_due(&self, queue: Queue) -> Result<Option<Timestamp>, StoreUnavailable>;

    /// What waits in all queues at `now` and nobody has claimed, by queue and action; those without such work are left out.
    async fn queues(&self, now: Timestamp) -> Result<Vec<QueueState>, StoreUnavailable>;

    /// Completes when there may be new work in this queue that is due before `before`: after a commit of this node that put
    /// some, or when another node has said that it put work, whenever that is due. Work that was added since the last call
    /// also completes it, so a worker that calls [`WorkQueue::next_due`] in between and sleeps until then misses nothing. A
    /// queue has one such worker in a process.
    async fn woken(&self, queue: Queue, before: Timestamp);

    /// Says that this node lives, and gives the work of nodes that have died back, except what somebody has locked, which is
    /// given back later. An error means that this node is not known to live. Called every two seconds.
    async fn beat(&self) -> Result<(), StoreUnavailable>;

    /// Gives back what every node has claimed: for a database that one process alone serves, when it starts.
    async fn release_all(&self) -> Result<(), StoreUnavailable>;

    /// Drops nonces and kept answers that expired before `now`, at most `limit` of each; answers how many went.
    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreUnavailable>;
}
