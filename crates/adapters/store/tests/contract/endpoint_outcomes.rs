//! What outcomes tell of their endpoints, and what they do not.

use std::time::Duration;

use quipu_webhooks::{
    DeliveryStatus, Enablement, EndpointChange, EndpointPatch, LogFilter, RetryPolicy, TargetUrl,
};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, now, opened, outcome, policy, record, tell},
    fixture::{Fixture, on_every_store, until},
    sample::{after, tenant},
};

on_every_store! {
    a_receiver_that_is_gone_is_told_nothing_more,
    a_former_address_that_is_gone_disables_nothing,
    what_a_former_address_did_ends_with_it,
    an_outcome_of_a_lost_delivery_tells_nothing_of_its_endpoint,
    a_failure_and_a_success_that_are_recorded_together_leave_no_time_of_failing,
    an_endpoint_that_fails_for_too_long_is_disabled,
    a_success_ends_a_time_of_failing_that_began_while_it_was_under_way,
}

async fn a_receiver_that_is_gone_is_told_nothing_more(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    tell(&store, HEARD, 2).await;
    let claimed = claim(&store, &hears, 10, 1).await;
    record(&store, &claimed, 410, 20).await;
    let gone = Enablement::Disabled(Some("the receiver answered 410 Gone".to_owned()));
    assert_eq!(now(&store, &hears).await.enablement, gone);
    until(async || counts(&store, &hears).await == [0, 0, 2, 2]).await;
    let filter = LogFilter { status: Some(DeliveryStatus::Failed), ..LogFilter::default() };
    let page = quipu_kernel::Page::new(10, 0).expect("a page");
    let (log, _) = store.logged(tenant(1), &hears.id, filter, page).await.expect("read");
    assert_eq!((log[1].attempts[0].http_status, log[1].next_attempt_at), (Some(410), None));
}

async fn a_former_address_that_is_gone_disables_nothing(fixture: Fixture) {
    let (store, elsewhere) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    let under_way = claim(&store, &hears, 10, 1).await;
    elsewhere.change(tenant(1), &hears.id, moved(), after(15)).await.expect("moved");
    record(&store, &under_way, 410, 12).await;
    let stands = now(&store, &hears).await;
    assert_eq!((stands.is_enabled(), stands.failing_since), (true, None));
    assert_eq!(counts(&store, &hears).await, [1, 0, 0, 1], "it is still owed");
    let again = claim(&store, &hears, 70_000, 1).await;
    assert_eq!(again[0].endpoint.url, stands.url);
    record(&store, &again, 200, 70_000).await;
    assert_eq!(counts(&store, &hears).await, [0, 1, 0, 1]);
}

fn moved() -> EndpointChange {
    let url = TargetUrl::restore("https://shop.example/moved".to_owned());
    EndpointChange::Update(EndpointPatch { url: Some(url), ..EndpointPatch::default() })
}

async fn what_a_former_address_did_ends_with_it(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    let claimed = claim(&store, &hears, 10, 1).await;
    record(&store, &claimed, 500, 100).await;
    let changed = store.change(tenant(1), &hears.id, moved(), after(200)).await.expect("moved");
    assert_eq!(changed.failing_since, None);
    let policy = RetryPolicy { disable_after: Duration::from_secs(10), ..RetryPolicy::default() };
    assert_eq!(store.disable_failing(after(20_000), &policy, 9).await.expect("asked"), []);
}

async fn an_outcome_of_a_lost_delivery_tells_nothing_of_its_endpoint(fixture: Fixture) {
    let (paused, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&paused, &hears).await;
    tell(&paused, HEARD, 1).await;
    let lost = claim(&paused, &hears, 10, 1).await;
    other.free_abandoned().await.expect("freed");
    let held = claim(&other, &hears, 10, 1).await;
    record(&other, &held, 200, 50).await;
    for status in [500, 410] {
        record(&paused, &lost, status, 20).await;
    }
    let stands = paused.endpoint(tenant(1), &hears.id).await.expect("read").expect("there");
    assert_eq!((stands.is_enabled(), stands.failing_since), (true, None));
}

async fn a_failure_and_a_success_that_are_recorded_together_leave_no_time_of_failing(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    tell(&store, HEARD, 2).await;
    let claimed = claim(&store, &hears, 10, 2).await;
    let outcomes = [(&claimed[0], 500, 20), (&claimed[1], 200, 30)];
    let outcomes = outcomes.map(|(owed, status, at)| outcome(owed, status, at)).to_vec();
    store.record(outcomes, &RetryPolicy::default()).await.expect("recorded");
    let stands = now(&store, &hears).await;
    assert_eq!(stands.failing_since, None);
}

async fn an_endpoint_that_fails_for_too_long_is_disabled(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    tell(&store, HEARD, 2).await;
    let policy = RetryPolicy { disable_after: Duration::from_secs(10), ..policy() };
    let also = endpoint(2);
    add(&store, &also).await;
    tell(&store, HEARD, 3).await;
    let of_others = claim(&store, &also, 10, 1).await;
    record(&store, &of_others, 500, 101).await;
    let claimed = claim(&store, &hears, 10, 3).await;
    record(&store, &claimed[..1], 500, 100).await;
    assert_eq!(store.disable_failing(after(10_099), &policy, 9).await.expect("asked"), []);
    let disabled = store.disable_failing(after(10_101), &policy, 1).await.expect("asked");
    assert_eq!(disabled.iter().map(|endpoint| &endpoint.id).collect::<Vec<_>>(), [&hears.id]);
    assert!(!disabled[0].is_enabled());
    let rest = store.disable_failing(after(10_101), &policy, 9).await.expect("asked");
    assert_eq!(rest.iter().map(|endpoint| &endpoint.id).collect::<Vec<_>>(), [&also.id]);
    assert_eq!(store.disable_failing(after(10_101), &policy, 9).await.expect("asked"), []);
    until(async || counts(&store, &hears).await == [0, 0, 3, 3]).await;
    let kept = now(&store, &hears).await;
    assert_eq!(kept.enablement, disabled[0].enablement);
}

async fn a_success_ends_a_time_of_failing_that_began_while_it_was_under_way(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    tell(&store, HEARD, 1).await;
    tell(&store, HEARD, 2).await;
    let policy = RetryPolicy { disable_after: Duration::from_secs(10), ..policy() };
    // Both were handed out when nothing had failed.
    let claimed = claim(&store, &hears, 10, 2).await;
    record(&store, &claimed[..1], 500, 100).await;
    record(&store, &claimed[1..], 200, 200).await;
    assert_eq!(now(&store, &hears).await.failing_since, None);
    assert_eq!(store.disable_failing(after(20_000), &policy, 9).await.expect("asked"), []);
}
