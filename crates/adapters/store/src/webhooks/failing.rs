//! Lets fail what is owed to endpoints that were disabled. This is no part of the call that disables an
//! endpoint, which has succeeded by then. Deliveries left over are found by [`waiting`] and fail when they are
//! claimed.
//!
//! [`waiting`]: quipu_webhooks::DeliveryQueue::waiting

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use quipu_merchants::StoreUnavailable;
use quipu_webhooks::Endpoint;
use tokio::time::timeout;

use super::settle::{Whose, fail_pending};
use crate::{connection::Connection, lock::locked, step::time_left, store::Store};

/// How many pending deliveries fail in one commit when their endpoint is disabled; the rest follows in
/// further commits.
const FAILED_AT_ONCE: i64 = 2_000;
/// How long the call that disables an endpoint waits until all of them have failed.
const SOON: Duration = Duration::from_secs(5);
/// The most endpoints that wait for their turn.
const MOST: usize = 1_000;

/// The endpoints that the gateway has disabled by itself. One task serves them in turn.
#[derive(Default)]
pub(crate) struct Failing(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    waiting: VecDeque<Endpoint>,
    is_served: bool,
}

impl Failing {
    /// Adds an endpoint, unless too many wait. Answers whether the caller is to serve them from now on.
    fn add(&self, endpoint: Endpoint) -> bool {
        let mut turns = locked(&self.0);
        if turns.waiting.len() < MOST {
            turns.waiting.push_back(endpoint);
        }
        !std::mem::replace(&mut turns.is_served, true)
    }

    /// The endpoint whose turn it is; `None` ends the serving.
    fn next(&self) -> Option<Endpoint> {
        let mut turns = locked(&self.0);
        let next = turns.waiting.pop_front();
        turns.is_served = next.is_some();
        next
    }
}

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
        if self.inner.failing.add(endpoint.clone()) {
            let store = self.clone();
            self.inner.runtime.spawn(async move {
                while let Some(endpoint) = store.inner.failing.next() {
                    if store.fail_some(&endpoint).await {
                        let _served_here = store.inner.failing.add(endpoint);
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
        match failed.await.map_err(StoreUnavailable::from) {
            Ok(failed) => failed >= FAILED_AT_ONCE,
            Err(error) => {
                tracing::warn!(%error, endpoint = %endpoint.id, "what was owed to a disabled endpoint fails later");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};
    use quipu_webhooks::{EndpointId, EventName, TargetUrl};

    use super::*;

    fn endpoint(number: usize) -> Endpoint {
        let url = TargetUrl::restore("https://shop.example/".to_owned());
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let id = EndpointId::restore(format!("wh_{number}"));
        Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], Timestamp::from_millis(0))
    }

    #[test]
    fn one_task_serves_all_in_turn() {
        let failing = Failing::default();
        assert!(failing.add(endpoint(1)));
        assert!(!failing.add(endpoint(2)), "they are served already");
        assert_eq!(failing.next(), Some(endpoint(1)));
        assert!(!failing.add(endpoint(1)), "it has more, and the others come first");
        assert_eq!(failing.next(), Some(endpoint(2)));
        assert_eq!(failing.next(), Some(endpoint(1)));
        assert_eq!(failing.next(), None);
        assert!(failing.add(endpoint(3)), "that task has ended");
    }

    #[test]
    fn the_endpoints_that_wait_are_bounded() {
        let failing = Failing::default();
        for number in 0..2 * MOST {
            failing.add(endpoint(number));
        }
        assert_eq!(std::iter::from_fn(|| failing.next()).count(), MOST);
    }
}
