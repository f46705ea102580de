//! The ports that a store implements for this crate.

use async_trait::async_trait;
use quipu_commit::{Answer, IdempotencyKey, KeyOwner};
use quipu_kernel::{
    Currency, CustomerId, Environment, MerchantId, Page, PaymentId, Period, StoreError, Tenant, Timestamp,
};
use quipu_merchants::Method;

use crate::{
    bank::file::{BankExport, ExportRoute, ExportStretch},
    details::{customer::Customer, kind::PaymentType},
    history::{receipt::Receipt, timeline::Timeline},
    payment::{Payment, refund::Refund, status::Status},
};

/// A filter of the list of payments; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PaymentFilter {
    /// Only payments in this status.
    pub status: Option<Status>,
    /// Only payments of this type.
    pub kind: Option<PaymentType>,
    /// Only payments by this method.
    pub method: Option<Method>,
    /// Only payments in this currency.
    pub currency: Option<Currency>,
    /// Only payments with this reference.
    pub merchant_reference: Option<String>,
    /// Only payments of this customer.
    pub customer_id: Option<CustomerId>,
    /// Only payments made in this period.
    pub created: Period,
}

/// A kept idempotency key, as it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    /// Hex of SHA-256 over the request.
    pub body_hash: String,
    /// The payment that the request created, if it created one.
    pub payment_id: Option<PaymentId>,
    /// The answer; `None` while the outcome is not known.
    pub answer: Option<Answer>,
}

/// Reading payments. Reads see every commit that was acknowledged before they began.
#[async_trait]
pub trait PaymentReads: Send + Sync {
    /// The payment of the tenant with this identifier.
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError>;

    /// A page of the tenant's payments, newest first, and the exact number of all that match.
    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError>;

    /// The customer of the tenant with this number.
    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreError>;

    /// The kept key, unless it has expired at `now`.
    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptKey>, StoreError>;
}

/// A filter of the search over all merchants; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Only payments of this merchant.
    pub merchant: Option<MerchantId>,
    /// Only payments in this environment.
    pub environment: Option<Environment>,
    /// Only payments on this rail, by the name that routes use.
    pub rail: Option<String>,
    /// The filters that merchants have too.
    pub payment: PaymentFilter,
}

/// A filter of the list of receipts; every given member must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptFilter {
    /// Only receipts of this merchant.
    pub merchant: Option<MerchantId>,
    /// Only receipts about this payment.
    pub payment_id: Option<PaymentId>,
    /// Only receipts that were resolved (`true`), or that wait for a person (`false`).
    pub resolved: Option<bool>,
    /// Only receipts parked in this period.
    pub created: Period,
}

/// Reads for rails and for the operator. They go over all merchants, so no merchant may ever use them.
#[async_trait]
pub trait CrossTenantReads: Send + Sync {
    /// The payment with this identifier, of any tenant.
    async fn find_payment(&self, id: &PaymentId) -> Result<Option<Payment>, StoreError>;

    /// A page of all payments that match, newest first, and their exact number.
    async fn search_payments(
        &self,
        filter: &SearchFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError>;

    /// The history of a payment.
    async fn timeline(&self, payment: &Payment) -> Result<Timeline, StoreError>;

    /// Whether an event of this rail is stored.
    async fn has_received(&self, rail: &str, event_id: &str) -> Result<bool, StoreError>;

    /// The refunds of a payment, oldest first.
    async fn refunds(&self, tenant: Tenant, id: &PaymentId) -> Result<Vec<Refund>, StoreError>;

    /// The receipt with this identifier, of any tenant.
    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError>;

    /// A page of receipts, newest first, and the exact number of all that match.
    async fn receipts(&self, filter: &ReceiptFilter, page: Page) -> Result<(Vec<Receipt>, u64), StoreError>;
}

/// Reads for bank files.
#[async_trait]
pub trait BankReads: Send + Sync {
    /// The withdrawals of a route on the `manual` rail that were submitted and are in no file, oldest first.
    /// It searches the next stretch of payments after `after`, or the first stretch.
    async fn exportable(
        &self,
        route: &ExportRoute,
        after: Option<&PaymentId>,
    ) -> Result<ExportStretch, StoreError>;

    /// A file with its tenant and its withdrawals, oldest first.
    async fn bank_export(
        &self,
        export_id: &str,
    ) -> Result<Option<(Tenant, BankExport, Vec<Payment>)>, StoreError>;

    /// The latest file of a route, or the latest that was made before another.
    async fn latest_bank_export(
        &self,
        route: &ExportRoute,
        before: Option<&BankExport>,
    ) -> Result<Option<BankExport>, StoreError>;
}
