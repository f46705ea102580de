//! Old deliveries go, however many endpoints there are: payments make them by naming addresses.

use futures_util::future::join_all;
use quipu_commit::Changes;
use quipu_kernel::{EventId, Page};
use quipu_merchants::Period;
use quipu_webhooks::{Endpoint, Event, LogFilter, NamedTarget, Source, TargetUrl};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, opened, record, tell},
    fixture::{AnyDeliveries, Fixture, on_every_store},
    sample::{after, tenant},
};

on_every_store! {
    what_is_old_goes_behind_however_many_endpoints,
    nodes_that_prune_at_once_count_each_delivery_off_once,
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
    for some in all.chunks(AT_ONCE) {
        let removed = join_all(some.iter().map(|one| store.remove(tenant(1), &one.id))).await;
        assert!(removed.iter().all(Result::is_ok));
    }
    while store.prune(after(1_500), 400).await.expect("pruned") > 0 {}
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
    let until_none =
        |store: AnyDeliveries| async move { while store.prune(after(900), 10).await.expect("pruned") > 0 {} };
    join_all([&store, &other, &store, &other].map(|node| until_none(node.clone()))).await;
    while store.prune(after(900), 10).await.expect("pruned") > 0 {}
    assert_eq!(counts(&store, &hears).await, [0, 31, 0, 31]);
}

/// How many deliveries an endpoint has, however many pages that are.
async fn counts_of_page(store: &AnyDeliveries, endpoint: &Endpoint) -> u64 {
    let filter = LogFilter { status: None, created: Period::default() };
    let page = Page::new(1, 0).expect("a page");
    store.logged(tenant(1), &endpoint.id, filter, page).await.expect("read").1
}
