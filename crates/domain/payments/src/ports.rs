//! What this crate needs of a store and of rails.

use async_trait::async_trait;
use quipu_commit::{Answer, Audience, IdempotencyKey};
use quipu_kernel::{Currency, CustomerId, Page, PaymentId, Tenant, Timestamp};
use quipu_merchants::{Method, Route, StoreUnavailable};

use crate::{
    customer::Customer,
    instructions::Instructions,
    kind::PaymentType,
    payment::{Due, Failure, Payment},
    status::Status,
};

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

/// What is kept under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRow {
    /// Hex of SHA-256 over what was asked.
    pub body_hash: String,
    /// The payment it stands for.
    pub payment_id: Option<PaymentId>,
    /// The answer; none while its outcome is not known.
    pub answer: Option<Answer>,
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

    /// What is kept under a key and has not expired at `now`.
    async fn kept_answer(
        &self,
        tenant: Tenant,
        audience: Audience,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptRow>, StoreUnavailable>;
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
