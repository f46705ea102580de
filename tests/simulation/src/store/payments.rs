//! What merchants read of payments.

use async_trait::async_trait;
use quipu_commit::{Aggregate, IdempotencyKey, KeyOwner};
use quipu_kernel::{CustomerId, Page, PaymentId, StoreError, Tenant, Timestamp};
use quipu_payments::{Customer, KeptKey, NewCustomer, Payment, PaymentFilter, PaymentReads};

use super::MemoryStore;
use crate::turns::give_way;

/// Whether a payment is among those that a list shows.
pub(super) fn matches(filter: &PaymentFilter, payment: &Payment) -> bool {
    fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
        wanted.is_none_or(|wanted| wanted == found)
    }
    let terms = payment.terms();
    is(filter.status.as_ref(), &payment.status())
        && is(filter.kind.as_ref(), &terms.kind)
        && is(filter.method.as_ref(), &terms.method)
        && is(filter.currency.as_ref(), &terms.currency)
        && is(filter.merchant_reference.as_ref(), &terms.merchant_reference)
        && is(filter.customer_id.as_ref(), &terms.customer.id)
        && filter.created.contains(terms.created_at)
}

/// A page of these, and how many there are.
pub(super) fn paged<T>(all: Vec<T>, page: Page) -> (Vec<T>, u64) {
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit()).unwrap_or(usize::MAX);
    (all.into_iter().skip(skipped).take(limit).collect(), total)
}

#[async_trait]
impl PaymentReads for MemoryStore {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        give_way().await;
        let found = self.contents().saved::<Payment>(Aggregate::PAYMENT, tenant, id.as_str()).cloned();
        give_way().await;
        Ok(found)
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        give_way().await;
        let contents = self.contents();
        let mine = contents.all::<Payment>(Aggregate::PAYMENT).filter(|(owner, _)| *owner == tenant);
        let mut mine: Vec<_> = mine.map(|(_, payment)| payment.clone()).collect();
        mine.retain(|payment| matches(filter, payment));
        mine.sort_by(|one, other| other.id().cmp(one.id()));
        Ok(paged(mine, page))
    }

    async fn customer(&self, tenant: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreError> {
        give_way().await;
        let contents = self.contents();
        let mut all = contents.rows_of::<NewCustomer>();
        let found = all.find(|(owner, customer)| *owner == tenant && customer.0.id == id);
        Ok(found.map(|(_, customer)| customer.0.clone()))
    }

    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptKey>, StoreError> {
        give_way().await;
        let contents = self.contents();
        let kept = contents.kept(&owner.answer_key(tenant, key), now);
        Ok(kept.map(|kept| KeptKey {
            body_hash: kept.record.body_hash.clone(),
            payment_id: kept.record.payment_id.clone(),
            answer: kept.answer.clone(),
        }))
    }
}
