//! Old deliveries go, however many endpoints there are: payments make them by naming addresses.

use std::time::Duration;

use futures_util::future::join_all;
use quipu_commit::Changes;
use quipu_kernel::{EventId, Page, Period};
use quipu_merchants::Merchants as _;
use quipu_webhooks::{
    DeliveryQueue as _, Endpoint, Endpoints as _, Event, LogFilter, NamedTarget, Source, TargetUrl,
};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, opened, record, tell},
    directory::{audit, merchant},
    fixture::{AnyDeliveries, Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    what_is_old_goes_behind_however_many_endpoints,
    nodes_that_prune_at_once_count_each_delivery_off_once,
}

mod databases {
    use super::what_a_commit_adds_to_a_removed_endpoint_goes_with_it;

    crate::fixture::on_both_databases! { what_a_commit_adds_to_a_removed_endpoint_goes_with_it }
}

/// More endpoints than the store looks at at once.
const MANY: usize = 1_050;
const AT_ONCE: usize = 150;

/// An event that names a target of its own.
fn event(number: usize) -> Event {
    let url = TargetUrl::restore(format!("https://shop.example/orders/{number}"));
    let named = Some(NamedTarget { url, events: vec![HEARD], first: true });
    let id = EventId::restore(format!("evt_{}_{number:016}", after(1_000).millis()));
    let (payload, at) = ("{}".to_owned(), after(1_000));
    Event { id, name: HEARD, at, payment_id: None, status: None, payload, named }
}

async fn endpoints(store: &AnyDeliveries) -> Vec<Endpoint> {
    let mut all = Vec::new();
    loop {
        let page = Page::new(100, all.len() as u64).expect("a page");
        let (mut some, total) =
            store.endpoints(tenant(1), Source::InRequest, Period::default(), page).await.expect("read");
        all.append(&mut some);
        if all.len() as u64 == total {
            return all;
        }
    }
}

async fn what_is_old_goes_behind_however_many_endpoints(fixture: Fixture) {
    let store = opened(&fixture).await;
    let numbers: Vec<_> = (0..MANY).collect();
    for some in numbers.chunks(AT_ONCE) {
        let mut changes = Changes::new(tenant(1), after(1_000));
        for number in some {
            changes.add(event(*number));
        }
        store.commit(changes).await.expect("committed");
    }
    let mut all = endpoints(&store).await;
    assert_eq!(all.len(), MANY);
    all.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    let last = all.pop().expect("one at least");
    let claimed = claim(&store, &last, 2_000, 1).await;
    record(&store, &claimed, 200, 2_000).await;
    assert_eq!(counts(&store, &last).await, [0, 1, 0, 1]);
    // More at a time could wait for a connection for too long, and be refused.
    for some in all.chunks(20) {
        let removed = join_all(some.iter().map(|one| store.remove(tenant(1), &one.id, after(1_000)))).await;
        assert!(removed.iter().all(Result::is_ok), "{removed:?}");
    }
    let (now, keep_for) = (after(100_000), Duration::from_millis(98_500));
    while store.prune(now, keep_for, 400).await.expect("pruned") > 0 {}
    assert_eq!(counts(&store, &last).await, [0; 4]);
    assert_eq!(store.backlog().await.expect("asked").0, 0);
}

async fn nodes_that_prune_at_once_count_each_delivery_off_once(fixture: Fixture) {
    let (store, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in 1..=120 {
        tell(&store, HEARD, at * 10).await;
    }
    let claimed = claim(&store, &hears, 2_000, 120).await;
    record(&store, &claimed, 200, 2_000).await;
    assert_eq!(counts_of_page(&store, &hears).await, 120);
    let until_none = |store: AnyDeliveries| async move { while prune(&store, 900).await > 0 {} };
    join_all([&store, &other, &store, &other].map(|node| until_none(node.clone()))).await;
    while prune(&store, 900).await > 0 {}
    assert_eq!(counts(&store, &hears).await, [0, 31, 0, 31]);
}

/// A commit that read the endpoint before its removal, and ends long after it.
async fn what_a_commit_adds_to_a_removed_endpoint_goes_with_it(fixture: Fixture) {
    let store = fixture.open().await;
    store.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await.expect("added");
    let hears = endpoint(1);
    store.add(hears.clone(), None).await.expect("added");
    let (removed, remembered) = (after(1_000_000), Endpoint::REMAINS_FOR);
    store.remove(tenant(1), &hears.id, removed).await.expect("removed");
    let prune = async |now| store.prune(now, Duration::from_secs(1), 10).await.expect("pruned");
    assert_eq!(prune(removed.plus(remembered)).await, 0);
    let event = format!(
        "INSERT INTO events (merchant_id, environment, id, type, payload, created_at)
            VALUES (1, 'test', 'evt_1', 'payment.created', '{{}}', 0);
         INSERT INTO deliveries (merchant_id, environment, endpoint_id, event_id, status, due_at, step)
            VALUES (1, 'test', '{}', 'evt_1', 0, 1, 0)",
        hears.id
    );
    fixture.sql(&event).await.expect("committed");
    let later = removed.plus(remembered + Duration::from_millis(1));
    assert_eq!(prune(later).await, 1);
    assert_eq!(prune(later).await, 0);
    assert_eq!(store.backlog().await.expect("asked").0, 0);
    let none_is_left = "SELECT 1 / (1 - COUNT(*)) FROM webhook_endpoints";
    fixture.sql(none_is_left).await.expect("forgotten");
}

/// Drops some deliveries of events before a time.
async fn prune(store: &AnyDeliveries, before: i64) -> u64 {
    store.prune(after(before), Duration::ZERO, 10).await.expect("pruned")
}

/// How many deliveries an endpoint has, however many pages that are.
async fn counts_of_page(store: &AnyDeliveries, endpoint: &Endpoint) -> u64 {
    let filter = LogFilter { status: None, created: Period::default() };
    let page = Page::new(1, 0).expect("a page");
    store.logged(tenant(1), &endpoint.id, filter, page).await.expect("read").1
}
