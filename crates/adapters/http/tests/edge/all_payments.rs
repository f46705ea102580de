//! Reads over all merchants that find nothing: what staff decide about payments is tested on the real thing.

use async_trait::async_trait;
use quipu_kernel::{Page, PaymentId, StoreError, Tenant};
use quipu_payments::{CrossTenantReads, Payment, Receipt, ReceiptFilter, Refund, SearchFilter, Timeline};

/// Finds nothing.
#[derive(Default)]
pub(crate) struct NoPayments;

#[async_trait]
impl CrossTenantReads for NoPayments {
    async fn find_payment(&self, _: &PaymentId) -> Result<Option<Payment>, StoreError> {
        Ok(None)
    }

    async fn search_payments(&self, _: &SearchFilter, _: Page) -> Result<(Vec<Payment>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn timeline(&self, _: &Payment) -> Result<Timeline, StoreError> {
        Ok(Timeline::default())
    }

    async fn has_received(&self, _: &str, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn refunds(&self, _: Tenant, _: &PaymentId) -> Result<Vec<Refund>, StoreError> {
        Ok(Vec::new())
    }

    async fn receipt(&self, _: &str) -> Result<Option<Receipt>, StoreError> {
        Ok(None)
    }

    async fn receipts(&self, _: &ReceiptFilter, _: Page) -> Result<(Vec<Receipt>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }
}
