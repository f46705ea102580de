//! Deliveries to endpoints that are gone.

use crate::{
    deliveries::{HEARD, add, claim, endpoint, opened, tell, tell_many},
    fixture::{Fixture, on_both_databases},
    sample::{after, tenant},
};

on_both_databases! {
    what_was_owed_to_a_removed_endpoint_is_dropped_some_at_a_time,
    a_look_for_waiting_deliveries_steps_over_a_thousand_endpoints_at_most,
}

async fn what_was_owed_to_a_removed_endpoint_is_dropped_some_at_a_time(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_many(&store).await;
    store.remove(tenant(1), &hears.id, after(0)).await.expect("removed");
    for left in [500, 0] {
        assert_eq!(store.waiting(after(0), None).await.expect("asked").endpoints.len(), 1, "due or not");
        assert!(claim(&store, &hears, 10, 10).await.is_empty());
        assert_eq!(store.backlog().await.expect("asked").0, left);
    }
    assert_eq!(store.waiting(after(10), None).await.expect("asked").endpoints, []);
}

/// A thousand endpoints that no longer exist come before the one that waits.
async fn a_look_for_waiting_deliveries_steps_over_a_thousand_endpoints_at_most(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    let row = |number| format!("(1, 'test', '!{number:04}', 'evt', 0, 1, 0)");
    let rows: Vec<_> = (1..=1_000).map(row).collect();
    let columns = "merchant_id, environment, endpoint_id, event_id, status, due_at, step";
    let insert = format!("INSERT INTO deliveries ({columns}) VALUES {}", rows.join(", "));
    fixture.sql(&insert).await.expect("inserted");
    let first = store.waiting(after(10), None).await.expect("asked");
    assert_eq!(first.endpoints, []);
    let next = first.next.expect("there are more");
    assert_eq!(next.as_str(), "!1000");
    let second = store.waiting(after(10), Some(&next)).await.expect("asked");
    assert_eq!((second.endpoints, second.next), (vec![(tenant(1), hears.id)], None));
}
