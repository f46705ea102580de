//! The port for reading payments.

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{CustomerId, Page, PaymentId, Tenant, Timestamp};
use quipu_merchants::StoreUnavailable;
use quipu_payments::{Audience, Customer, IdempotencyKey, Payment, PaymentFilter, PaymentReads};

use super::payment_list;
use crate::{
    connection::{Connection, first},
    engine::Reading,
    error::Fault,
    schema::{customers, kept_answers},
    store::Store,
};

#[async_trait]
impl PaymentReads for Store {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreUnavailable> {
        Ok(self.inner.payments.get(&self.inner.engine, (tenant, id.clone())).await?)
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreUnavailable> {
        let filter = filter.clone();
        let listed = self.inner.engine.read_as(Reading::Page, move |conn: &mut Connection| {
            Box::pin(async move { payment_list::list(conn, tenant, &filter, page).await })
        });
        Ok(listed.await?)
    }

    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreUnavailable> {
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = customers::table
                    .find((tenant.merchant().0, tenant.environment().as_str(), id.0))
                    .select((customers::email, customers::phone, customers::name));
                let row = first!(conn, (Option<String>, Option<String>, Option<String>), query)?;
                Ok::<_, Fault>(row.map(|(email, phone, name)| Customer { id, email, phone, name }))
            })
        });
        Ok(found.await?)
    }

    async fn kept_answer(
        &self,
        tenant: Tenant,
        audience: Audience,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<(String, u16, String)>, StoreUnavailable> {
        let key = key.as_str().to_owned();
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let found = kept_answers::table
                    .find((tenant.merchant().0, tenant.environment().as_str(), audience.as_str(), &key))
                    .filter(kept_answers::expires_at.gt(now.millis()))
                    .select((kept_answers::body_hash, kept_answers::status, kept_answers::sealed_body));
                let Some((hash, status, body)) = first!(conn, (String, i32, String), found)? else {
                    return Ok(None);
                };
                let status = u16::try_from(status);
                let status = status.map_err(|_| Fault::Corrupt(format!("a kept status: {status:?}")))?;
                Ok::<_, Fault>(Some((hash, status, body)))
            })
        });
        Ok(found.await?)
    }
}
