//! What is owed to an endpoint that is gone.

use crate::{
    deliveries::{add, claim, endpoint, opened, tell_many},
    fixture::{Fixture, on_both_databases},
    sample::{after, tenant},
};

on_both_databases! {
    what_was_owed_to_a_removed_endpoint_is_dropped_some_at_a_time,
}

async fn what_was_owed_to_a_removed_endpoint_is_dropped_some_at_a_time(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_many(&store).await;
    store.remove(tenant(1), &hears.id).await.expect("removed");
    for left in [500, 0] {
        assert_eq!(store.waiting(after(0), None).await.expect("asked").endpoints.len(), 1, "due or not");
        assert!(claim(&store, &hears, 10, 10).await.is_empty());
        assert_eq!(store.backlog().await.expect("asked").0, left);
    }
    assert_eq!(store.waiting(after(10), None).await.expect("asked").endpoints, []);
}
