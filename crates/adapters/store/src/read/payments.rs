//! Reads of payments.

use std::sync::Arc;

use async_trait::async_trait;
use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_commit::{Answer, IdempotencyKey, KeyOwner};
use quipu_kernel::{CustomerId, Page, PaymentId, StoreError, Tenant, Timestamp};
use quipu_payments::{Customer, KeptKey, Payment, PaymentFilter, PaymentReads};
use tokio::time::timeout_at;

use super::payment_list;
use crate::{
    call_wait::CallWait,
    connection::{Connection, first},
    error::Fault,
    query::{Query, Reading},
    rows::stored::parsed,
    schema::{customers, kept_answers},
    single_flight::{Flight, ListKey, Listed, Seat},
    store::{Inner, Store},
    tables::kept_answers::AWAITED,
};

/// A page, read for one caller or for several who ask for the same page at the same time.
async fn listed(inner: &Inner, key: ListKey) -> Result<Listed, Fault> {
    loop {
        match inner.lists.board(key.clone()) {
            Seat::Lead(flight) => return lead(inner, key, flight).await,
            Seat::Along(told) => {
                if let Ok(told) = told.await {
                    return told.map_err(Fault::Shared);
                }
            }
        }
    }
}

async fn lead(
    inner: &Inner,
    (tenant, filter, page): ListKey,
    flight: Flight<ListKey, Listed>,
) -> Result<Listed, Fault> {
    // A customer may have very many; a reference has few.
    let names_only_customer = filter.customer_id.is_some() && filter.merchant_reference.is_none();
    let query = listing(tenant, filter, page, flight);
    if names_only_customer {
        inner.read_page(tenant.merchant(), query).await
    } else {
        inner.engine.read_as(Reading::Payments, query).await
    }
}

/// The query for a page, which answers all who wait for it.
fn listing(
    tenant: Tenant,
    filter: PaymentFilter,
    page: Page,
    flight: Flight<ListKey, Listed>,
) -> impl Query<Listed, Fault> {
    move |conn: &mut Connection| {
        Box::pin(async move {
            let landing = flight.depart();
            let listed = payment_list::list(conn, tenant, &filter, page).await.map(Arc::new);
            landing.answer(&listed);
            listed
        })
    }
}

#[async_trait]
impl PaymentReads for Store {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        Ok(self.inner.payments.get(&self.inner.engine, (tenant, id.clone())).await?)
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        let wait = CallWait::begin(self.inner.engine.times());
        let listed = timeout_at(wait.deadline, listed(&self.inner, (tenant, filter.clone(), page)));
        Ok(Arc::unwrap_or_clone(listed.await.map_err(|_| Fault::Silent)??))
    }

    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreError> {
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

    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptKey>, StoreError> {
        let (tenant, _, key) = owner.answer_key(tenant, key);
        let found = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let found = kept_answers::table
                    .find((tenant.merchant().0, tenant.environment().as_str(), owner.as_str(), &key))
                    .filter(kept_answers::expires_at.gt(now.millis()))
                    .select((
                        kept_answers::body_hash,
                        kept_answers::payment_id,
                        kept_answers::status,
                        kept_answers::body,
                    ));
                let row = first!(conn, (String, Option<String>, i32, String), found)?;
                let Some((body_hash, payment_id, status, body)) = row else { return Ok(None) };
                let payment_id = payment_id.as_deref().map(|id| parsed("a payment", id)).transpose()?;
                let status = u16::try_from(status);
                let status = status.map_err(|_| Fault::Corrupt(format!("a kept status: {status:?}")))?;
                let answer = (i32::from(status) != AWAITED).then_some(Answer { status, body });
                Ok::<_, Fault>(Some(KeptKey { body_hash, payment_id, answer }))
            })
        });
        Ok(found.await?)
    }
}
