//! What a disabled endpoint is owed, and what becomes of what was under way.

use quipu_kernel::Page;
use quipu_webhooks::{
    DeliveryStatus, ENDPOINT_DISABLED, EndpointChange, LogFilter, LoggedEvent, RetrySelection,
};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, logged, opened, record, tell, tell_many},
    fixture::{Fixture, on_every_store, until},
    sample::{after, tenant},
};

on_every_store! {
    what_is_owed_to_a_disabled_endpoint_has_failed,
    disabling_fails_nothing_that_happens_once_it_is_enabled_again,
    disabling_fails_nothing_that_is_tried_again_once_it_is_enabled,
    an_attempt_that_was_under_way_when_its_endpoint_was_disabled_is_kept,
}

async fn what_is_owed_to_a_disabled_endpoint_has_failed(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in 1..=4 {
        tell(&store, HEARD, at).await;
    }
    assert_eq!(claim(&store, &hears, 10, 2).await.len(), 2);
    store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11)).await.expect("disabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 4, 4]);
    let failed = logged(&store, &hears, Some(DeliveryStatus::Failed)).await;
    assert!(failed.iter().all(|event| event.error.as_deref() == Some(ENDPOINT_DISABLED)));
    tell(&store, HEARD, 13).await;
    store.change(tenant(1), &hears.id, EndpointChange::Enable, after(14)).await.expect("enabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 4, 4], "nothing is owed of that time");
    let all = store.retry(tenant(1), &hears.id, RetrySelection::default(), after(15)).await.expect("retried");
    assert_eq!((all, claim(&store, &hears, 20, 10).await.len()), (4, 4));
    assert!(logged(&store, &hears, None).await.iter().all(|event| event.error.is_none()));
}

async fn disabling_fails_nothing_that_happens_once_it_is_enabled_again(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_many(&store).await;
    let disable = store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11));
    let enable_and_tell = async {
        let stands = async || store.endpoint(tenant(1), &hears.id).await.expect("read").expect("there");
        while stands().await.is_enabled() {
            tokio::task::yield_now().await;
        }
        store.change(tenant(1), &hears.id, EndpointChange::Enable, after(12)).await.expect("enabled");
        tell(&store, HEARD, 13).await
    };
    let (disabled, later) = tokio::join!(biased; disable, enable_and_tell);
    disabled.expect("disabled");
    let owed = claim(&store, &hears, 20, 10).await;
    assert_eq!(owed.iter().map(|owed| &owed.event_id).collect::<Vec<_>>(), [&later]);
}

/// How much has failed by the time that it is tried again depends on who is quicker; the rest fails, and nothing else.
async fn disabling_fails_nothing_that_is_tried_again_once_it_is_enabled(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell_many(&store).await;
    let disable = store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11));
    let enable_and_retry = async {
        let failed = async || {
            let filter = LogFilter { status: Some(DeliveryStatus::Failed), ..LogFilter::default() };
            let page = Page::new(1, 0).expect("a page");
            store.logged(tenant(1), &hears.id, filter, page).await.expect("read").1
        };
        while failed().await == 0 {
            tokio::task::yield_now().await;
        }
        store.change(tenant(1), &hears.id, EndpointChange::Enable, after(12)).await.expect("enabled");
        let all = RetrySelection::default();
        store.retry(tenant(1), &hears.id, all, after(13)).await.expect("retried")
    };
    let (disabled, retried) = tokio::join!(biased; disable, enable_and_retry);
    disabled.expect("disabled");
    until(async || store.backlog().await.expect("asked").0 == retried).await;
}

async fn an_attempt_that_was_under_way_when_its_endpoint_was_disabled_is_kept(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in 1..=4 {
        tell(&store, HEARD, at).await;
    }
    let held = claim(&store, &hears, 10, 3).await;
    store.change(tenant(1), &hears.id, EndpointChange::Disable, after(11)).await.expect("disabled");
    record(&store, &held[..1], 200, 12).await;
    record(&store, &held[1..2], 500, 12).await;
    assert_eq!(counts(&store, &hears).await, [0, 1, 3, 4]);
    let standing = |event: &LoggedEvent| {
        let statuses: Vec<_> = event.attempts.iter().filter_map(|attempt| attempt.http_status).collect();
        (event.status, event.error.clone(), statuses)
    };
    let log = logged(&store, &hears, None).await;
    let disabled = Some(ENDPOINT_DISABLED.to_owned());
    assert_eq!(standing(&log[3]), (DeliveryStatus::Delivered, None, vec![200]));
    assert_eq!(standing(&log[2]), (DeliveryStatus::Failed, disabled.clone(), vec![500]));
    assert_eq!(standing(&log[0]), (DeliveryStatus::Failed, disabled, vec![]));

    // A round that somebody has begun meanwhile is another one, though the same node has it in hand.
    store.change(tenant(1), &hears.id, EndpointChange::Enable, after(14)).await.expect("enabled");
    store.retry(tenant(1), &hears.id, RetrySelection::default(), after(15)).await.expect("retried");
    let again = claim(&store, &hears, 20, 10).await;
    assert_eq!(again.len(), 3);
    record(&store, &held[2..], 500, 21).await;
    assert_eq!(counts(&store, &hears).await, [3, 1, 0, 4]);
    record(&store, &again, 200, 22).await;
    assert_eq!(counts(&store, &hears).await, [0, 4, 0, 4]);
}
