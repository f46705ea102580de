//! What this crate needs of a store and of rails.

use async_trait::async_trait;
use quipu_commit::{Answer, Audience, IdempotencyKey};
use quipu_kernel::{Currency, CustomerId, Environment, MerchantId, Page, PaymentId, Tenant, Timestamp};
use quipu_merchants::{Method, StoreUnavailable};

use crate::{
    bank_file::{BankExport, ExportRoute, ExportStretch},
    customer::Customer,
    kind::PaymentType,
    payment::Payment,
    receipt::Receipt,
    refund::Refund,
    status::Status,
    timeline::Timeline,
};

/// Which payments a list shows; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
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

/// Which payments a search over all merchants shows; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Of this merchant.
    pub merchant: Option<MerchantId>,
    /// In this environment.
    pub environment: Option<Environment>,
    /// On this rail, by the name that routes use.
    pub rail: Option<String>,
    /// The filters that merchants have too.
    pub payment: PaymentFilter,
}

/// Which receipts a list shows; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptFilter {
    /// Of this merchant.
    pub merchant: Option<MerchantId>,
    /// About this payment.
    pub payment_id: Option<PaymentId>,
    /// Those that wait for a person, or those that were resolved.
    pub resolved: Option<bool>,
    /// Parked at or after.
    pub created_from: Option<Timestamp>,
    /// Parked at or before.
    pub created_to: Option<Timestamp>,
}

/// Reading for rails and for the operator: over all merchants, and never for a merchant.
#[async_trait]
pub trait MoneyReads: Send + Sync {
    /// A payment of whichever tenant.
    async fn find_payment(&self, id: &PaymentId) -> Result<Option<Payment>, StoreUnavailable>;

    /// A page of all payments that match, newest first, and their exact number.
    async fn search_payments(
        &self,
        filter: &SearchFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreUnavailable>;

    /// What happened to a payment.
    async fn timeline(&self, payment: &Payment) -> Result<Timeline, StoreUnavailable>;

    /// Whether an event of this rail was stored.
    async fn has_heard(&self, rail: &str, event_id: &str) -> Result<bool, StoreUnavailable>;

    /// The refunds of a payment, oldest first.
    async fn refunds(&self, tenant: Tenant, id: &PaymentId) -> Result<Vec<Refund>, StoreUnavailable>;

    /// A receipt of whichever tenant.
    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreUnavailable>;

    /// A page of receipts, newest first, and the exact number of all that match.
    async fn receipts(
        &self,
        filter: &ReceiptFilter,
        page: Page,
    ) -> Result<(Vec<Receipt>, u64), StoreUnavailable>;
}

/// Reading for bank files.
#[async_trait]
pub trait BankReads: Send + Sync {
    /// The withdrawals of a route on the `manual` rail that were submitted and are in no file, oldest first: those of the next
    /// stretch behind `after`, from the beginning if there is none.
    async fn exportable(
        &self,
        route: &ExportRoute,
        after: Option<&PaymentId>,
    ) -> Result<ExportStretch, StoreUnavailable>;

    /// A file with its tenant and its withdrawals, oldest first.
    async fn bank_export(
        &self,
        export_id: &str,
    ) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreUnavailable>;

    /// The latest file of a route.
    async fn latest_bank_export(&self, route: &ExportRoute) -> Result<Option<BankExport>, StoreUnavailable>;
}
