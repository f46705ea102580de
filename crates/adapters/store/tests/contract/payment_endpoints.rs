//! Endpoints that payments name.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use quipu_commit::Changes;
use quipu_kernel::{EventId, Page, Period, Timestamp};
use quipu_webhooks::{Endpoint, EndpointChange, Event, NamedTarget, Source, TargetUrl};

use crate::{
    deliveries::{HEARD, claim, logged, opened},
    fixture::{AnyDeliveries, Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    payments_at_once_share_a_new_endpoint,
    payments_at_once_enable_an_endpoint_again,
}

const AT_ONCE: usize = 32;

/// Commits events of payments that name one URL, all at once and at two nodes. Their identifiers.
async fn tell_at_once(nodes: [&AnyDeliveries; 2], at: Timestamp) -> BTreeSet<EventId> {
    let url = TargetUrl::restore("https://shop.example/named".to_owned());
    let told = join_all((0..AT_ONCE).map(|number| {
        let id = EventId::restore(format!("evt_{}_{number:016}", at.millis()));
        let named = Some(NamedTarget { url: url.clone(), events: vec![HEARD], first: true });
        let mut changes = Changes::new(tenant(1), at);
        let payload = "{}".to_owned();
        changes.add(Event {
            id: id.clone(),
            name: HEARD,
            at,
            payment_id: None,
            status: None,
            payload,
            named,
        });
        async move {
            nodes[number % 2].commit(changes).await.expect("committed");
            id
        }
    }));
    told.await.into_iter().collect()
}

/// The only endpoint that payments named.
async fn only(store: &AnyDeliveries) -> Endpoint {
    let found = store.endpoints(tenant(1), Source::InRequest, Period::default(), Page::default()).await;
    let (mut found, total) = found.expect("read");
    assert_eq!((found.len(), total), (1, 1), "{found:?}");
    found.remove(0)
}

/// Asserts that the endpoint is owed these events and that its log has so many.
async fn assert_owed(store: &AnyDeliveries, endpoint: &Endpoint, told: &BTreeSet<EventId>, in_log: usize) {
    let owed = claim(store, endpoint, 1_000_000, 1_000).await;
    assert_eq!(owed.len(), told.len());
    assert_eq!(&owed.into_iter().map(|owed| owed.event_id).collect::<BTreeSet<_>>(), told);
    assert_eq!(logged(store, endpoint, None).await.len(), in_log);
}

async fn payments_at_once_share_a_new_endpoint(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let told = tell_at_once([&one, &other], after(1)).await;
    assert_owed(&one, &only(&other).await, &told, AT_ONCE).await;
}

async fn payments_at_once_enable_an_endpoint_again(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    tell_at_once([&one, &other], after(1)).await;
    let disabled = only(&one).await;
    one.change(tenant(1), &disabled.id, EndpointChange::Disable, after(2)).await.expect("disabled");
    let told = tell_at_once([&one, &other], after(3)).await;
    let enabled = only(&other).await;
    assert_eq!((&enabled.id, enabled.is_enabled()), (&disabled.id, true));
    assert_owed(&one, &enabled, &told, 2 * AT_ONCE).await;
}
