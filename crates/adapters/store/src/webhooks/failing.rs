//! Lets fail what is owed to endpoints that were disabled. This is no part of the call that disables an
//! endpoint, which has succeeded by then. Deliveries left over are found by [`waiting`] and fail when they are
//! claimed.
//!
//! [`waiting`]: quipu_webhooks::DeliveryQueue::waiting

use std::time::Duration;

use quipu_kernel::StoreError;
use quipu_webhooks::Endpoint;
use tokio::time::timeout;

use super::fail_pending::{Whose, fail_pending};
use crate::{call_wait::time_left, connection::Connection, store::Store};

/// How many pending deliveries fail in one commit when their endpoint is disabled; the rest follows in
/// further commits.
const FAILED_AT_ONCE: i64 = 2_000;
/// How long the call that disables an endpoint waits until all of them have failed.
const SOON: Duration = Duration::from_secs(5);

impl Store {
    /// Lets fail what was owed to an endpoint when somebody disabled it. The caller waits for that, but only
    /// for a few seconds of what is left of its call.
    pub(super) async fn fail_what_is_owed(&self, endpoint: &Endpoint) {
        let (store, endpoint) = (self.clone(), endpoint.clone());
        let patience = SOON.min(time_left(self.inner.engine.times()));
        let failing = self.inner.runtime.spawn(async move { while store.fail_some(&endpoint).await {} });
        let _goes_on = timeout(patience, failing).await;
    }

    /// Lets fail what was owed to an endpoint when the gateway disabled it. Nobody waits for that: others are
    /// to be disabled, too, and what is owed to endpoints in order is to be sent.
    pub(super) fn fail_later(&self, endpoint: &Endpoint) {
        if self.inner.disabled_endpoints.add(endpoint.clone()) {
            let store = self.clone();
            self.inner.runtime.spawn(async move {
                while let Some(endpoint) = store.inner.disabled_endpoints.next() {
                    if store.fail_some(&endpoint).await {
                        let _served_here = store.inner.disabled_endpoints.add(endpoint);
                    }
                }
            });
        }
    }

    /// Fails some deliveries. Answers whether there may be more that can fail now.
    async fn fail_some(&self, endpoint: &Endpoint) -> bool {
        let (whose, disabled) = (Whose::of(endpoint), Some(endpoint.updated_at));
        let failed = self.inner.engine.write(move |conn: &mut Connection| {
            Box::pin(async move { fail_pending(conn, &whose, disabled, FAILED_AT_ONCE).await })
        });
        match failed.await.map_err(StoreError::from) {
            Ok(failed) => failed >= FAILED_AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, endpoint = %endpoint.id, "what was owed to a disabled endpoint fails later");
                false
            }
        }
    }
}
