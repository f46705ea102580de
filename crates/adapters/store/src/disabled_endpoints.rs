//! Endpoints that the gateway has disabled by itself take turns: what is owed to them fails in one after the other.

use std::{collections::VecDeque, sync::Mutex};

use quipu_kernel::locked;

use quipu_webhooks::Endpoint;

/// The most endpoints that wait for their turn.
const MOST: usize = 1_000;

/// The endpoints that wait. One task serves them.
#[derive(Default)]
pub(crate) struct DisabledEndpoints(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Endpoint>,
    is_served: bool,
}

impl DisabledEndpoints {
    /// Adds an endpoint, unless too many wait. Answers whether the caller is to serve them from now on.
    pub(crate) fn add(&self, endpoint: Endpoint) -> bool {
        let mut queue = locked(&self.0);
        if queue.waiting.len() < MOST {
            queue.waiting.push_back(endpoint);
        }
        !std::mem::replace(&mut queue.is_served, true)
    }

    /// The endpoint whose turn it is; `None` ends the serving.
    pub(crate) fn next(&self) -> Option<Endpoint> {
        let mut queue = locked(&self.0);
        let next = queue.waiting.pop_front();
        queue.is_served = next.is_some();
        next
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
        let waiting = DisabledEndpoints::default();
        assert!(waiting.add(endpoint(1)));
        assert!(!waiting.add(endpoint(2)), "they are served already");
        assert_eq!(waiting.next(), Some(endpoint(1)));
        assert!(!waiting.add(endpoint(1)), "it has more, and the others come first");
        assert_eq!(waiting.next(), Some(endpoint(2)));
        assert_eq!(waiting.next(), Some(endpoint(1)));
        assert_eq!(waiting.next(), None);
        assert!(waiting.add(endpoint(3)), "that task has ended");
    }

    #[test]
    fn the_endpoints_that_wait_are_bounded() {
        let waiting = DisabledEndpoints::default();
        for number in 0..2 * MOST {
            waiting.add(endpoint(number));
        }
        assert_eq!(std::iter::from_fn(|| waiting.next()).count(), MOST);
    }
}
