//! What this crate needs of a store and of rails.

use async_trait::async_trait;
use quipu_kernel::{Currency, CustomerId, Page, PaymentId, Tenant, Timestamp};
use quipu_ledger::PostingError;
use quipu_merchants::{Method, Route, StoreUnavailable};

use crate::{
    changes::{Changes, Committed},
    customer::Customer,
    idempotency::{Audience, IdempotencyKey},
    instructions::Instructions,
    kind::PaymentType,
    payment::{Due, Failure, Payment},
    status::Status,
};

/// Why a [`Changes`] was not applied. Nothing of it was, except its nonce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another payment of the tenant holds the reference.
    #[error("the reference is held by {holder}")]
    ReferenceTaken {
        /// That payment.
        holder: PaymentId,
    },
    /// A balance cannot bear the postings.
    #[error(transparent)]
    Posting(#[from] PostingError),
    /// The payment no longer stands where the decision found it; decide again.
    #[error("the payment has changed meanwhile")]
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
    /// The store refused it or failed. After `Failed` the change may have been applied all the same.
    #[error(transparent)]
    Store(#[from] StoreUnavailable),
}

/// The write path.
#[async_trait]
pub trait Commit: Send + Sync {
    /// Applies `changes` whole or not at all, durably: when this answers, the change survives a crash.
    ///
    /// Judged in this order, against everything committed before and everything accepted earlier in the same batch:
    /// nonce, idempotency key, version of the payment, reference, balances as they will be and as they are foreseen.
    /// Dropping the returned future does not undo anything.
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError>;
}

/// Which payments a list shows; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaymentFilter {
    /// In this status.
    pub status: Option<Status>,
    /// Of this type.
    pub kind: Option<PaymentType>,
    /// By this method.
    pub method: Option<Method>,
    /// In this currency.
    pub currency: Option<Currency>,
    /// With this reference.
    pub merchant_reference: Option<String>,
    /// Of this customer.
    pub customer_id: Option<CustomerId>,
    /// Made at or after.
    pub created_from: Option<Timestamp>,
    /// Made at or before.
    pub created_to: Option<Timestamp>,
}

/// Reading payments. Reads see every commit that was acknowledged before they began.
#[async_trait]
pub trait PaymentReads: Send + Sync {
    /// One payment of the tenant.
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreUnavailable>;

    /// A page of the tenant's payments, newest first, and the exact number of all that match.
    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreUnavailable>;

    /// One customer of the tenant.
    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreUnavailable>;

    /// The answer kept under a key and not expired at `now`: hex of SHA-256 over the request's body, and the status code
    /// with the sealed body.
    async fn kept_answer(
        &self,
        tenant: Tenant,
        audience: Audience,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<(String, u16, String)>, StoreUnavailable>;
}

/// Payments that wait for a worker, over all tenants.
#[async_trait]
pub trait DueQueue: Send + Sync {
    /// Takes up to `limit` payments whose time has come at `now`, the longest waiting first, each with the action that is due.
    /// Until `lease_until` nobody else gets them; then, if nothing was committed for them, they are due again.
    async fn claim(
        &self,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<Payment>, StoreUnavailable>;

    /// When the next payment is due; none if nothing waits.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreUnavailable>;

    /// The withdrawals whose time had come at `now` and that nobody has taken on: how many, and since when the first of
    /// them waits.
    async fn overdue_payouts(&self, now: Timestamp) -> Result<(u64, Option<Timestamp>), StoreUnavailable>;

    /// Completes when a commit of this node may have changed what is due next.
    async fn changed(&self);

    /// Drops nonces and kept answers that expired before `now`, at most `limit` of each; answers how many went.
    async fn prune(&self, now: Timestamp, limit: u32) -> Result<u64, StoreUnavailable>;
}

/// What a rail gives for a new payment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issued {
    /// What the payer needs; nothing for a withdrawal.
    pub instructions: Instructions,
    /// When a worker must first attend to it.
    pub due: Option<Due>,
    /// An expiry other than the route's.
    pub expires_at: Option<Timestamp>,
}

/// What became of handing a withdrawal to its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// The rail has it, or may have it: ask again at this time.
    Taken(Timestamp),
    /// The rail refused it.
    Rejected(Failure),
}

/// How a payment stands at its rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RailStatus {
    /// The money arrived.
    Completed,
    /// It will not.
    Failed(Failure),
    /// Not known yet; ask again at this time, or wait for word.
    Pending(Option<Timestamp>),
}

/// Where money really moves. A rail is found by the name that a route gives.
#[async_trait]
pub trait Rail: Send + Sync {
    /// The name that routes use.
    fn name(&self) -> &str;

    /// Instructions for a new payment, made locally and quickly, without I/O: they are part of the payment's own commit.
    fn issue(&self, payment: &Payment, route: &Route) -> Issued;

    /// Hands a withdrawal over. It is called only after the commit that made the payment `processing`, always under
    /// the payment's own identifier, and may be called again after a crash.
    async fn submit(&self, payment: &Payment) -> Submission;

    /// Asks how a payment stands.
    async fn ask(&self, payment: &Payment) -> RailStatus;
}
