//! Reads for rails and the operator: payments of every merchant.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Page, PaymentId, StoreError, Tenant};
use quipu_payments::{
    CrossTenantReads, Payment, Receipt, ReceiptFilter, ReceivedEvent, Refund, SearchFilter, Timeline,
};

use super::{receipts, search, timeline};
use crate::{
    connection::{Connection, first},
    error::Fault,
    query::Reading,
    rows::payment::PaymentRow,
    schema::{callbacks, payments},
    store::Store,
};

#[async_trait]
impl CrossTenantReads for Store {
    async fn find_payment(&self, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        let id = id.clone();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let row = first!(conn, PaymentRow, payments::table.filter(payments::id.eq(id.as_str())))?;
                row.map(PaymentRow::into_payment).transpose()
            })
        });
        Ok(found.await?)
    }

    async fn search_payments(
        &self,
        filter: &SearchFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        let filter = filter.clone();
        let found = self.inner.engine.read_as(Reading::Page, move |conn: &mut Connection| {
            Box::pin(async move { search::search(conn, &filter, page).await })
        });
        Ok(found.await?)
    }

    async fn timeline(&self, payment: &Payment) -> Result<Timeline, StoreError> {
        let payment = payment.clone();
        let found = self
            .inner
            .engine
            .read(move |conn: &mut Connection| Box::pin(async move { timeline::of(conn, &payment).await }));
        Ok(found.await?)
    }

    async fn has_received(&self, rail: &str, event_id: &str) -> Result<bool, StoreError> {
        let name = ReceivedEvent::name_of(rail, event_id);
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = callbacks::table.find(&name).select(callbacks::id);
                Ok::<_, Fault>(first!(conn, String, query)?.is_some())
            })
        });
        Ok(found.await?)
    }

    async fn refunds(&self, tenant: Tenant, id: &PaymentId) -> Result<Vec<Refund>, StoreError> {
        let id = id.clone();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move { timeline::refunds(conn, tenant, id.as_str()).await })
        });
        Ok(found.await?)
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        let id = id.to_owned();
        let found = self
            .inner
            .engine
            .read(move |conn: &mut Connection| Box::pin(async move { receipts::one(conn, &id).await }));
        Ok(found.await?)
    }

    async fn receipts(&self, filter: &ReceiptFilter, page: Page) -> Result<(Vec<Receipt>, u64), StoreError> {
        let filter = filter.clone();
        let found = self.inner.engine.read_as(Reading::Page, move |conn: &mut Connection| {
            Box::pin(async move { receipts::list(conn, &filter, page).await })
        });
        Ok(found.await?)
    }
}
