//! Nodes whose clocks disagree.

use quipu_webhooks::{EndpointChange, RetrySelection};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, opened, tell},
    fixture::{Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    what_is_owed_when_an_endpoint_is_disabled_fails_though_the_clock_there_lags,
}

async fn what_is_owed_when_an_endpoint_is_disabled_fails_though_the_clock_there_lags(fixture: Fixture) {
    let (store, lags) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in [60_000, 60_001, 60_002] {
        tell(&store, HEARD, at).await;
    }
    assert_eq!(claim(&store, &hears, 60_002, 1).await.len(), 1);
    lags.change(tenant(1), &hears.id, EndpointChange::Disable, after(10)).await.expect("disabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 3, 3]);
    lags.change(tenant(1), &hears.id, EndpointChange::Enable, after(20)).await.expect("enabled");
    let all = store.retry(tenant(1), &hears.id, RetrySelection::default(), after(60_010)).await;
    assert_eq!(all.expect("retried"), 3);
}
