//! Webhook endpoints in memory, and a courier whose every delivery is answered 200.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use quipu_kernel::{EventId, Page, Period, StoreError, Tenant, Timestamp};
use quipu_merchants::AuditRecord;
use quipu_webhooks::{
    Attempted, Courier, Deliverer, DeliveryLog, Endpoint, EndpointChange, EndpointError, EndpointId,
    Endpoints, LogFilter, LoggedEvent, Owed, Response, RetrySelection, Source,
};

#[derive(Default)]
pub(crate) struct FakeHooks {
    endpoints: Mutex<Vec<Endpoint>>,
}

impl FakeHooks {
    fn with<T>(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        act: impl FnOnce(&mut Endpoint) -> Result<T, EndpointError>,
    ) -> Result<T, EndpointError> {
        let mut endpoints = self.endpoints.lock().expect("no test panics with the lock");
        let found = endpoints.iter_mut().find(|endpoint| endpoint.tenant == tenant && endpoint.id == *id);
        act(found.ok_or(EndpointError::NotFound)?)
    }
}

#[async_trait]
impl Endpoints for FakeHooks {
    async fn add(&self, endpoint: Endpoint, _: Option<AuditRecord>) -> Result<(), EndpointError> {
        self.endpoints.lock().expect("no test panics with the lock").push(endpoint);
        Ok(())
    }

    async fn endpoint(&self, tenant: Tenant, id: &EndpointId) -> Result<Option<Endpoint>, StoreError> {
        Ok(self.with(tenant, id, |endpoint| Ok(endpoint.clone())).ok())
    }

    async fn endpoints(
        &self,
        tenant: Tenant,
        source: Source,
        created: Period,
        _: Page,
    ) -> Result<(Vec<Endpoint>, u64), StoreError> {
        let endpoints = self.endpoints.lock().expect("no test panics with the lock");
        let all = endpoints.iter().filter(|endpoint| endpoint.tenant == tenant && endpoint.source == source);
        let all: Vec<_> = all.filter(|endpoint| created.contains(endpoint.created_at)).cloned().collect();
        let total = all.len() as u64;
        Ok((all, total))
    }

    async fn change(
        &self,
        tenant: Tenant,
        id: &EndpointId,
        change: EndpointChange,
        at: Timestamp,
    ) -> Result<Endpoint, EndpointError> {
        self.with(tenant, id, |endpoint| {
            endpoint.apply(change, at)?;
            Ok(endpoint.clone())
        })
    }

    async fn remove(&self, tenant: Tenant, id: &EndpointId, _: Timestamp) -> Result<(), EndpointError> {
        self.with(tenant, id, |_| Ok(()))?;
        self.endpoints.lock().expect("no test panics with the lock").retain(|endpoint| endpoint.id != *id);
        Ok(())
    }
}

#[async_trait]
impl DeliveryLog for FakeHooks {
    async fn logged(
        &self,
        _: Tenant,
        _: &EndpointId,
        _: LogFilter,
        _: Page,
    ) -> Result<(Vec<LoggedEvent>, u64), StoreError> {
        Ok((Vec::new(), 0))
    }

    async fn retry(
        &self,
        _: Tenant,
        _: &EndpointId,
        _: RetrySelection,
        _: Timestamp,
    ) -> Result<u64, StoreError> {
        Ok(0)
    }
}

#[async_trait]
impl Courier for FakeHooks {
    async fn attempt(&self, endpoint: &Endpoint, _: &EventId, _: &Arc<str>) -> Attempted {
        let result = Ok(Response::new(200, None, b"ok"));
        Attempted { started_at: endpoint.created_at, duration: Duration::from_millis(1), result }
    }
}

impl Deliverer for FakeHooks {
    fn hand_over(&self, _: Vec<Owed>) {}

    fn endpoint_changed(&self, _: &Endpoint) {}

    fn changed_elsewhere(&self, _: Option<Vec<EndpointId>>) {}

    fn look(&self) {}
}
