//! Endpoints that were changed a short while ago.
//!
//! A batch reads the endpoints before it commits, and hands its deliveries over afterwards. If an endpoint was
//! changed in between and read again already, these deliveries still have it as it was.

use std::{collections::HashMap, sync::Arc, time::Duration};

use quipu_kernel::Timestamp;
use quipu_webhooks::{Endpoint, EndpointId};

/// How long a change is remembered: longer than a batch may take, from its first read until it hands over.
const REMEMBERED: Duration = Duration::from_secs(30);
/// The most changes that are remembered.
const MOST: usize = 10_000;

/// The newest state of each of these endpoints that this node has seen.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges(HashMap<EndpointId, Change>);

#[derive(Debug)]
struct Change {
    /// `None` if it no longer exists.
    endpoint: Option<Arc<Endpoint>>,
    /// The time of the first round after the change.
    since: Option<Timestamp>,
}

impl RecentChanges {
    /// Remembers an endpoint as it is after a change.
    pub(crate) fn note(&mut self, id: &EndpointId, endpoint: Option<&Arc<Endpoint>>) {
        if self.0.len() < MOST || self.0.contains_key(id) {
            self.0.insert(id.clone(), Change { endpoint: endpoint.cloned(), since: None });
        }
    }

    /// Whether a delivery has an endpoint in another state than the one that was seen last.
    pub(crate) fn contradict(&self, handed: &Endpoint) -> bool {
        let Some(change) = self.0.get(&handed.id) else { return false };
        change.endpoint.as_ref().is_none_or(|seen| {
            seen.updated_at != handed.updated_at
                || seen.url != handed.url
                || seen.enablement != handed.enablement
        })
    }

    /// Forgets the changes that were made some time before `now`.
    pub(crate) fn forget_old(&mut self, now: Timestamp) {
        self.0.retain(|_, change| now.since(*change.since.get_or_insert(now)) < REMEMBERED);
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Environment, MerchantId, Tenant};
    use quipu_webhooks::{EventName, TargetUrl};

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    fn endpoint(id: &str) -> Arc<Endpoint> {
        let url = TargetUrl::restore("https://shop.example/".to_owned());
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let id = EndpointId::restore(id.to_owned());
        Arc::new(Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], NOON))
    }

    #[test]
    fn a_change_is_remembered_for_half_a_minute() {
        let (mut changes, before) = (RecentChanges::default(), endpoint("wh_1"));
        assert!(!changes.contradict(&before));
        let mut disabled = Endpoint::clone(&before);
        disabled.disable(None, NOON);
        let disabled = Arc::new(disabled);
        changes.note(&before.id, Some(&disabled));
        assert!(changes.contradict(&before) && !changes.contradict(&disabled));
        changes.forget_old(NOON);
        changes.forget_old(NOON.plus(REMEMBERED.saturating_sub(Duration::from_millis(1))));
        assert!(changes.contradict(&before));
        changes.forget_old(NOON.plus(REMEMBERED));
        assert!(!changes.contradict(&before));
    }

    #[test]
    fn what_failed_since_is_no_change_and_what_is_gone_contradicts_all() {
        let (mut changes, before) = (RecentChanges::default(), endpoint("wh_1"));
        let failing = Arc::new(Endpoint { failing_since: Some(NOON), ..Endpoint::clone(&before) });
        changes.note(&before.id, Some(&failing));
        assert!(!changes.contradict(&before));
        changes.note(&before.id, None);
        assert!(changes.contradict(&before));
    }

    #[test]
    fn changes_without_number_take_no_memory_without_bound() {
        let mut changes = RecentChanges::default();
        for number in 0..=MOST {
            let endpoint = endpoint(&format!("wh_{number}"));
            changes.note(&endpoint.id, Some(&endpoint));
        }
        assert_eq!(changes.0.len(), MOST);
    }
}
