//! Long deliveries, which are claimed a few at a time.

use std::{collections::HashMap, sync::Arc};

use quipu_commit::Changes;
use quipu_webhooks::{Endpoint, Event, Owed, Wanted};

use crate::{
    deliveries::{HEARD, add, counts, endpoint, event, opened, policy, record},
    fixture::{AnyDeliveries, Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    a_claim_ends_by_its_bytes_and_takes_one_delivery_however_long,
    a_claim_of_many_endpoints_ends_by_its_bytes_and_the_rest_is_claimed_later,
}

const LONG: usize = 1024 * 1024;

/// Events of a megabyte each, the first of them due longest.
async fn tell_of_long_ones(store: &AnyDeliveries, events: i64) {
    for at in 1..=events {
        let mut changes = Changes::new(tenant(1), after(at));
        changes.add(Event { payload: "x".repeat(LONG), ..event(HEARD, at) });
        store.commit(changes).await.expect("committed");
    }
}

fn wanted(endpoint: &Endpoint, bytes: usize) -> Wanted {
    Wanted { tenant: tenant(1), endpoint: endpoint.id.clone(), most: 100, bytes }
}

async fn claim(store: &AnyDeliveries, wanted: Vec<Wanted>) -> Vec<Owed> {
    let claimed = store.claim(after(1_000), wanted).await.expect("claimed");
    assert!(claimed.iter().all(|owed| owed.payload.len() == LONG), "each has its payload");
    claimed
}

async fn a_claim_ends_by_its_bytes_and_takes_one_delivery_however_long(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_of_long_ones(&store, 6).await;
    let mut due = Vec::new();
    for (bytes, taken) in [(1, 1), (2 * LONG, 2), (2 * LONG + 1, 3)] {
        let claimed = claim(&store, vec![wanted(&hears, bytes)]).await;
        assert_eq!(claimed.len(), taken, "{bytes}");
        due.extend(claimed.iter().map(|owed| owed.due_at));
        record(&store, &claimed, 500, 1_000).await;
    }
    assert_eq!(due, (1..=6).map(after).collect::<Vec<_>>(), "the longest due first");
    let retried = after(1_000).plus(policy().gaps[0] * 2);
    let claimed = store.claim(retried, vec![wanted(&hears, LONG + 1)]).await.expect("claimed");
    assert_eq!(claimed.len(), 1, "attempts count too");
    assert_eq!(counts(&store, &hears).await, [6, 0, 0, 6]);
}

async fn a_claim_of_many_endpoints_ends_by_its_bytes_and_the_rest_is_claimed_later(fixture: Fixture) {
    let store = opened(&fixture).await;
    let endpoints: Vec<_> = (1..=5).map(endpoint).collect();
    for endpoint in &endpoints {
        add(&store, endpoint).await;
    }
    tell_of_long_ones(&store, 5).await;
    let all = || endpoints.iter().map(|endpoint| wanted(endpoint, usize::MAX)).collect::<Vec<_>>();
    let first = claim(&store, all()).await;
    assert_eq!(first.len(), Wanted::BYTES_AT_ONCE / LONG);
    for owed in &first {
        let of_same_event = first.iter().filter(|other| other.event_id == owed.event_id);
        assert!(of_same_event.clone().count() > 1);
        for other in of_same_event {
            assert!(Arc::ptr_eq(&owed.payload, &other.payload), "they share it");
        }
    }
    let second = claim(&store, all()).await;
    assert_eq!(first.len() + second.len(), 25);
    let mut of_each = HashMap::new();
    for owed in first.iter().chain(&second) {
        *of_each.entry(owed.endpoint.id.clone()).or_insert(0) += 1;
    }
    assert!(of_each.len() == 5 && of_each.values().all(|taken| *taken == 5), "each was claimed once");
}
