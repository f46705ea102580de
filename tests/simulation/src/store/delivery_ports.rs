//! Webhook endpoints, the log of what each was told, and the queue of what is owed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use quipu_kernel::{Page, Period, StoreError, Tenant, Timestamp};
use quipu_merchants::AuditRecord;
use quipu_webhooks::{
    DeliveryKey, DeliveryLog, DeliveryQueue, DeliveryStatus, DueEndpoints, Endpoint, EndpointChange,
    EndpointError, EndpointId, Endpoints, LogFilter, LoggedEvent, Outcome, Owed, RetryPolicy, RetrySelection,
    Source, Waiting, Wanted,
};

use super::{MemoryStore, deliveries::Hearer, payments::paged};
use crate::turns::give_way;

/// Endpoints in one answer about who waits.
const ENDPOINTS: usize = 1_000;

#[async_trait]
impl Endpoints for MemoryStore {
    /// Merchants are kept elsewhere, so that nobody is refused because there is none.
    async fn add(&self, endpoint: Endpoint, audit: Option<AuditRecord>) -> Result<(), EndpointError> {
        give_way().await;
        let tenant = endpoint.tenant;
        self.deliveries().add(endpoint)?;
        if let Some(audit) = audit {
            self.contents().rows.push((tenant, Arc::new(audit)));
        }
        Ok(())
    }

    async fn endpoint(&self, tenant: Tenant, id: &EndpointId) -> Result<Option<Endpoint>, StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        Ok(kept.hearer(tenant, id).map(|hearer| hearer.endpoint.clone()))
    }

    async fn endpoints(
        &self,
        tenant: Tenant,
        source: Source,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Endpoint>, u64), StoreError> {
        give_way().await;
        let mut found: Vec<_> = self.deliveries().endpoints(tenant, source).cloned().collect();
        found.retain(|endpoint| created.contains(endpoint.created_at));
        found.sort_by(|one, other| other.created_at.cmp(&one.created_at).then_with(|| other.id.cmp(&one.id)));
        Ok(paged(found, page))
    }

    async fn change(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError> {
        give_way().await;
        let mut kept = self.deliveries();
        let hearer = kept.hearer(tenant, id).ok_or(EndpointError::NotFound)?;
        let mut endpoint = hearer.endpoint.clone();
        endpoint.apply(change, at)?;
        hearer.endpoint = endpoint.clone();
        if !endpoint.is_enabled() {
            hearer.fail_pending();
        }
        Ok(endpoint)
    }

    async fn remove(&self, tenant: Tenant, id: &EndpointId, at: Timestamp) -> Result<(), EndpointError> {
        give_way().await;
        let mut kept = self.deliveries();
        let hearer = kept.hearer(tenant, id).ok_or(EndpointError::NotFound)?;
        hearer.removed_at = Some(at);
        Ok(())
    }
}

#[async_trait]
impl DeliveryLog for MemoryStore {
    async fn logged(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        filter: LogFilter,
        page: Page,
    ) -> Result<(Vec<LoggedEvent>, u64), StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        let Some(hearer) = kept.hearer(tenant, endpoint) else { return Ok((Vec::new(), 0)) };
        let newest_first = hearer.told.iter().rev();
        let found = newest_first.filter(|(_, delivery)| delivery.is_among(filter.status, filter.created));
        Ok(paged(found.map(|(id, delivery)| delivery.logged(id)).collect(), page))
    }

    async fn retry(
        &self,
        tenant: Tenant,
        endpoint: &EndpointId,
        selection: RetrySelection,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        let Some(hearer) = kept.hearer(tenant, endpoint) else { return Ok(0) };
        let mut retried = 0;
        for (id, delivery) in &mut hearer.told {
            let chosen = selection.events.as_ref().is_none_or(|events| events.contains(id));
            if chosen && delivery.is_among(Some(DeliveryStatus::Failed), selection.created) {
                delivery.begin_again(at);
                retried += 1;
            }
        }
        Ok(retried)
    }
}

#[async_trait]
impl DeliveryQueue for MemoryStore {
    async fn due(&self, now: Timestamp) -> Result<DueEndpoints, StoreError> {
        give_way().await;
        let kept = self.deliveries();
        let due = kept.hearers.iter().filter(|(_, hearer)| hearer.waiting().any(|due_at| due_at <= now));
        let endpoints: Vec<_> = due
            .map(|(id, hearer)| (hearer.endpoint.tenant, id.clone()))
            .take(DueEndpoints::MOST.into())
            .collect();
        let are_all = endpoints.len() < DueEndpoints::MOST.into();
        Ok(DueEndpoints { endpoints, are_all })
    }

    async fn waiting(&self, now: Timestamp, after: Option<&EndpointId>) -> Result<Waiting, StoreError> {
        give_way().await;
        let kept = self.deliveries();
        let waiting = kept.hearers.iter().filter(|(id, hearer)| {
            after.is_none_or(|after| after < *id) && hearer.waiting().any(|due_at| due_at <= now)
        });
        let endpoints: Vec<_> =
            waiting.map(|(id, hearer)| (hearer.endpoint.tenant, id.clone())).take(ENDPOINTS).collect();
        let next = endpoints.get(ENDPOINTS - 1).map(|(_, id)| id.clone());
        Ok(Waiting { endpoints, next })
    }

    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        let (mut claimed, mut left) = (Vec::new(), Wanted::BYTES_AT_ONCE);
        for one in wanted {
            let hearer = kept.hearers.get_mut(&one.endpoint);
            if let Some(hearer) = hearer.filter(|hearer| hearer.endpoint.tenant == one.tenant) {
                let most = (one.most.try_into().unwrap_or(usize::MAX), one.bytes.min(left));
                let taken = hearer.take(now, most, self.node);
                left = left.saturating_sub(taken.iter().map(Owed::bytes).sum());
                claimed.extend(taken);
            }
        }
        Ok(claimed)
    }

    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreError> {
        give_way().await;
        let kept = self.deliveries();
        Ok(ids.iter().filter_map(|id| Some(kept.hearers.get(id)?.endpoint.clone())).collect())
    }

    /// An endpoint is asked only where an outcome may mean something for it, as elsewhere.
    async fn record(&self, outcomes: Vec<Outcome>, policy: &RetryPolicy) -> Result<(), StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        let mut of_endpoint: BTreeMap<(Tenant, &EndpointId), Vec<&Outcome>> = BTreeMap::new();
        for outcome in &outcomes {
            if kept.record(self.node, outcome) {
                of_endpoint.entry((outcome.tenant, &outcome.endpoint)).or_default().push(outcome);
            }
        }
        for ((tenant, id), outcomes) in of_endpoint {
            let Some(hearer) = kept.hearer(tenant, id) else { continue };
            let _changed = hearer.revise(|endpoint| {
                outcomes.iter().filter(|outcome| endpoint.note(outcome, policy)).count() > 0
            });
        }
        Ok(())
    }

    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        for owed in deliveries {
            if let Some(delivery) =
                kept.held(self.node, (owed.endpoint.tenant, &owed.endpoint.id), &owed.event_id)
            {
                delivery.node = None;
            }
        }
        Ok(())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        give_way().await;
        let kept = self.deliveries();
        Ok(kept.hearers.values().flat_map(Hearer::waiting).filter(|due_at| *due_at > now).min())
    }

    async fn free_abandoned(&self) -> Result<u64, StoreError> {
        give_way().await;
        Ok(self.deliveries().free_abandoned(self.node))
    }

    async fn long_in_hand(&self, before: Timestamp, limit: u32) -> Result<Vec<DeliveryKey>, StoreError> {
        give_way().await;
        Ok(self.deliveries().long_in_hand(self.node, before, limit as usize))
    }

    async fn release_lost(&self, deliveries: Vec<DeliveryKey>) -> Result<(), StoreError> {
        give_way().await;
        self.deliveries().release_lost(self.node, &deliveries);
        Ok(())
    }

    async fn disable_failing(
        &self,
        now: Timestamp,
        policy: &RetryPolicy,
        limit: u32,
    ) -> Result<Vec<Endpoint>, StoreError> {
        give_way().await;
        let mut kept = self.deliveries();
        let there = kept.hearers.values_mut().filter(|hearer| hearer.removed_at.is_none());
        let disabled =
            there.filter_map(|hearer| hearer.revise(|endpoint| endpoint.disable_if_failing(now, policy)));
        Ok(disabled.take(limit as usize).collect())
    }

    async fn prune(&self, now: Timestamp, keep_for: Duration, limit: u32) -> Result<u64, StoreError> {
        give_way().await;
        Ok(self.deliveries().prune(now, keep_for, limit.try_into().unwrap_or(usize::MAX)))
    }

    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        give_way().await;
        let kept = self.deliveries();
        let owed = kept.hearers.values().flat_map(|hearer| hearer.told.values());
        let owed: Vec<_> = owed.filter_map(|delivery| delivery.due_at).collect();
        Ok((owed.len() as u64, owed.into_iter().min()))
    }
}
