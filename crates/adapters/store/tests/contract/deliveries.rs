//! Webhook endpoints, what is owed to them, and the log of what each was told.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use quipu_commit::Changes;
use quipu_kernel::{EventId, Page, Period, Timestamp};
use quipu_merchants::{Merchants as _, Route};
use quipu_webhooks::{
    Attempted, DeliveryStatus, Endpoint, EndpointChange, EndpointError, EndpointId, Event, EventName,
    LogFilter, LoggedEvent, Outcome, Owed, Response, RetryPolicy, RetrySelection, Source, Spread, TargetUrl,
    Wanted,
};

use crate::{
    directory::{audit, merchant},
    fixture::{AnyDeliveries, Engine, Fixture, on_every_store, until},
    sample::{START, after, tenant},
};

on_every_store! {
    a_tenant_has_fifty_endpoints_at_most_however_many_come_at_once,
    a_commit_owes_its_events_to_those_who_hear_them,
    what_is_claimed_is_in_one_pair_of_hands,
    an_outcome_counts_only_for_whoever_has_the_delivery,
    the_log_counts_exactly_what_became_of_each,
    a_page_of_the_log_is_newest_first_wherever_it_begins,
    a_removed_endpoint_is_owed_nothing,
    what_was_finished_long_ago_is_dropped_and_no_longer_counted,
    what_a_dead_node_had_in_hand_is_freed,
}

pub(crate) const HEARD: EventName = EventName::TicketCreated;

/// A store with the merchant whose endpoints these are; in memory nobody asks for one.
pub(crate) async fn opened(fixture: &Fixture) -> AnyDeliveries {
    if matches!(fixture.engine, Engine::Memory) {
        return fixture.any_deliveries().await;
    }
    let store = fixture.open().await;
    store.add_merchant(merchant(1), Route::of_new_merchant(), audit("merchant.create")).await.expect("added");
    Arc::new(store)
}

pub(crate) fn endpoint(number: u8) -> Endpoint {
    let id = EndpointId::restore(format!("019aa3b5-ec00-7000-8000-0000000000{number:02x}"));
    let url = TargetUrl::restore(format!("https://shop.example/{number}"));
    let named = Endpoint::named(id, tenant(1), url, vec![HEARD], after(number.into()));
    Endpoint { source: Source::Admin, sealed_secret: Some("sealed".to_owned()), ..named }
}

pub(crate) async fn add(store: &AnyDeliveries, endpoint: &Endpoint) {
    store.add(endpoint.clone(), None).await.expect("added");
}

/// An event that happened so many milliseconds after the start.
pub(crate) fn event(name: EventName, at: i64) -> Event {
    let id = EventId::restore(format!("evt_{}_aaaaaaaaaaaaaaaa", after(at).millis()));
    let payload = format!("{{\"at\":{at}}}");
    Event { id, name, at: after(at), payment_id: None, status: None, payload, named: None }
}

pub(crate) async fn tell(store: &AnyDeliveries, name: EventName, at: i64) -> EventId {
    let mut changes = Changes::new(tenant(1), after(at));
    let event = event(name, at);
    let id = event.id.clone();
    changes.add(event);
    store.commit(changes).await.expect("committed");
    id
}

/// Tells of 2,500 events at once, more than are failed, retried or dropped in one commit.
pub(crate) async fn tell_many(store: &AnyDeliveries) {
    let mut changes = Changes::new(tenant(1), after(1));
    for number in 0..2_500 {
        let id = EventId::restore(format!("evt_{}_{number:016}", after(1).millis()));
        changes.add(Event { id, ..event(HEARD, 1) });
    }
    store.commit(changes).await.expect("committed");
}

pub(crate) async fn claim(store: &AnyDeliveries, endpoint: &Endpoint, now: i64, most: u32) -> Vec<Owed> {
    let wanted = Wanted { tenant: tenant(1), endpoint: endpoint.id.clone(), most, bytes: usize::MAX };
    store.claim(after(now), vec![wanted]).await.expect("claimed")
}

fn answered(status: u16, at: i64) -> Attempted {
    let result = Ok(Response::new(status, None, b"noted"));
    Attempted { started_at: after(at), duration: Duration::from_millis(5), result }
}

pub(crate) fn policy() -> RetryPolicy {
    RetryPolicy { gaps: vec![Duration::from_mins(1)], ..RetryPolicy::default() }
}

/// Records that every delivery was answered so.
pub(crate) async fn record(store: &AnyDeliveries, deliveries: &[Owed], status: u16, at: i64) {
    let outcomes = deliveries.iter().map(|owed| outcome(owed, status, at)).collect();
    store.record(outcomes, &policy()).await.expect("recorded");
}

/// The endpoint as it stands now.
pub(crate) async fn now(store: &AnyDeliveries, endpoint: &Endpoint) -> Endpoint {
    store.endpoint(tenant(1), &endpoint.id).await.expect("read").expect("there")
}

/// That a delivery was answered so.
pub(crate) fn outcome(owed: &Owed, status: u16, at: i64) -> Outcome {
    owed.after(&answered(status, at), &policy(), Spread::NONE)
}

pub(crate) async fn logged(
    store: &AnyDeliveries,
    endpoint: &Endpoint,
    status: Option<DeliveryStatus>,
) -> Vec<LoggedEvent> {
    let filter = LogFilter { status, created: Period::default() };
    let page = Page::new(100, 0).expect("a page");
    let (events, total) = store.logged(tenant(1), &endpoint.id, filter, page).await.expect("read");
    assert_eq!(events.len() as u64, total, "the total is exact");
    events
}

/// How many are pending, delivered and failed, and how many there are in all.
pub(crate) async fn counts(store: &AnyDeliveries, endpoint: &Endpoint) -> [usize; 4] {
    let [pending, delivered, failed] = DeliveryStatus::ALL;
    let mut counts = [0; 4];
    for (place, status) in [Some(pending), Some(delivered), Some(failed), None].into_iter().enumerate() {
        counts[place] = logged(store, endpoint, status).await.len();
    }
    counts
}

fn ids(deliveries: &[Owed]) -> Vec<EventId> {
    deliveries.iter().map(|owed| owed.event_id.clone()).collect()
}

async fn a_tenant_has_fifty_endpoints_at_most_however_many_come_at_once(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let all = (0..60).map(|number| {
        let store = if number % 2 == 0 { &one } else { &other };
        store.add(endpoint(number), None)
    });
    let outcomes = join_all(all).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 50);
    for outcome in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(outcome, EndpointError::LimitReached), "{outcome}");
    }
    let page = Page::new(100, 0).expect("a page");
    let (listed, total) =
        other.endpoints(tenant(1), Source::Admin, Period::default(), page).await.expect("read");
    assert_eq!((listed.len(), total), (50, 50));
    assert!(listed.is_sorted_by(|one, next| one.created_at >= next.created_at), "newest first");
    assert_eq!(one.endpoints(tenant(2), Source::Admin, Period::default(), page).await.expect("read").1, 0);
}

async fn a_commit_owes_its_events_to_those_who_hear_them(fixture: Fixture) {
    let store = opened(&fixture).await;
    let (hears, deaf, silent) = (endpoint(1), endpoint(2), endpoint(3));
    let deaf = Endpoint { events: vec![EventName::TicketClosed], ..deaf };
    for endpoint in [&hears, &deaf, &silent] {
        add(&store, endpoint).await;
    }
    store.change(tenant(1), &silent.id, EndpointChange::Disable, after(9)).await.expect("disabled");
    let told = tell(&store, HEARD, 10).await;
    tell(&store, EventName::TicketUpdated, 11).await;
    assert_eq!(store.next_due(START).await.expect("asked"), Some(after(10)));
    assert_eq!(store.waiting(after(9), None).await.expect("asked").endpoints, []);
    assert_eq!(
        store.waiting(after(10), None).await.expect("asked").endpoints,
        [(tenant(1), hears.id.clone())]
    );
    assert_eq!(store.waiting(after(10), Some(&hears.id)).await.expect("asked").endpoints, []);
    let due = async |at: i64| {
        let due = store.due(after(at)).await.expect("asked");
        (due.endpoints, due.are_all)
    };
    assert_eq!((due(9).await, due(10).await), ((vec![], true), (vec![(tenant(1), hears.id.clone())], true)));
    assert!(claim(&store, &hears, 9, 10).await.is_empty(), "it is not due yet");
    let claimed = claim(&store, &hears, 10, 10).await;
    assert_eq!(ids(&claimed), [told]);
    assert_eq!((&*claimed[0].payload, claimed[0].step, claimed[0].is_fresh()), ("{\"at\":10}", 0, true));
    assert_eq!(*claimed[0].endpoint, hears);
    for nothing in [&deaf, &silent] {
        assert_eq!(counts(&store, nothing).await, [0; 4]);
    }
    assert_eq!(store.backlog().await.expect("asked"), (1, Some(after(10))));
}

async fn what_is_claimed_is_in_one_pair_of_hands(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&one, &hears).await;
    for at in 1..=40 {
        tell(&one, HEARD, at).await;
    }
    let rounds = (0..10).map(|round| {
        let store = if round % 2 == 0 { &one } else { &other };
        claim(store, &hears, 1_000, 5)
    });
    let claimed: Vec<_> = join_all(rounds).await.into_iter().flatten().collect();
    let distinct: BTreeSet<_> = claimed.iter().map(|owed| owed.event_id.as_str().to_owned()).collect();
    assert_eq!(distinct.len(), claimed.len(), "nobody has what another has");
    let mut rest = claim(&one, &hears, 1_000, 100).await;
    assert_eq!(claimed.len() + rest.len(), 40);
    assert!(rest.is_sorted_by_key(|owed| owed.due_at), "the longest due first");
    // What neither attempts is there again for both; what another has in hand is not given back.
    rest.extend(claimed);
    other.give_back(rest.clone()).await.expect("given back");
    one.give_back(rest).await.expect("given back");
    assert_eq!(claim(&other, &hears, 1_000, 100).await.len(), 40);
}

async fn an_outcome_counts_only_for_whoever_has_the_delivery(fixture: Fixture) {
    let (one, other) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&one, &hears).await;
    tell(&one, HEARD, 1).await;
    let lost = claim(&one, &hears, 10, 1).await;
    one.give_back(lost.clone()).await.expect("given back");
    let held = claim(&other, &hears, 10, 1).await;
    record(&one, &lost, 200, 11).await;
    assert_eq!(counts(&one, &hears).await, [1, 0, 0, 1], "it is in another's hands");
    record(&other, &held, 200, 12).await;
    record(&other, &held, 500, 13).await;
    assert_eq!(counts(&one, &hears).await, [0, 1, 0, 1], "and then in nobody's");
    assert_eq!(logged(&one, &hears, None).await[0].attempts.len(), 1);
}

async fn the_log_counts_exactly_what_became_of_each(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    let mut told = Vec::new();
    for at in 1..=6 {
        told.push(tell(&store, HEARD, at).await);
    }
    let claimed = claim(&store, &hears, 10, 6).await;
    record(&store, &claimed[..2], 204, 20).await;
    record(&store, &claimed[2..5], 500, 20).await;
    assert_eq!(now(&store, &hears).await.failing_since, Some(after(20)));
    assert_eq!(counts(&store, &hears).await, [4, 2, 0, 6]);
    let due = store.next_due(after(10)).await.expect("asked").expect("a retry");
    assert_eq!(due, after(20 + 5 + 60_000));
    let pending = logged(&store, &hears, Some(DeliveryStatus::Pending)).await;
    let newest_first: Vec<_> = pending.iter().map(|event| event.id.clone()).collect();
    assert_eq!(newest_first, [&told[5], &told[4], &told[3], &told[2]].map(Clone::clone));
    assert_eq!((pending[1].next_attempt_at, pending[1].attempts.len()), (Some(due), 1));
    let created = Period { from: Some(after(4)), to: Some(after(5)) };
    let filter = LogFilter { status: Some(DeliveryStatus::Pending), created };
    let (of_period, total) = store.logged(tenant(1), &hears.id, filter, Page::default()).await.expect("read");
    assert_eq!((of_period.as_slice(), total), (&pending[1..3], 2));
    // The schedule has one gap, so that the second failure is the last.
    let again = claim(&store, &hears, 70_000, 10).await;
    assert_eq!(again.len(), 3, "the sixth is in hand");
    record(&store, &again, 503, 70_001).await;
    assert_eq!(counts(&store, &hears).await, [1, 2, 3, 6]);
    let failed = logged(&store, &hears, Some(DeliveryStatus::Failed)).await;
    assert!(failed.iter().all(|event| event.attempts.len() == 2 && event.next_attempt_at.is_none()));
    let retry = async |events: Option<Vec<EventId>>, from: Option<Timestamp>| {
        let created = Period { from, to: None };
        let selection = RetrySelection { events, created };
        store.retry(tenant(1), &hears.id, selection, after(80_000)).await.expect("retried")
    };
    assert_eq!(retry(Some(vec![told[0].clone(), told[2].clone()]), None).await, 1, "one of them has failed");
    assert_eq!(retry(None, Some(after(5))).await, 1);
    assert_eq!(counts(&store, &hears).await, [3, 2, 1, 6]);
    assert_eq!(retry(None, None).await, 1);
    assert_eq!(retry(None, None).await, 0);
    assert_eq!(claim(&store, &hears, 80_000, 10).await[0].step, 0, "a new round");
    let of_another = RetrySelection::default();
    assert_eq!(store.retry(tenant(2), &hears.id, of_another, after(1)).await.expect("asked"), 0);
}

async fn a_page_of_the_log_is_newest_first_wherever_it_begins(fixture: Fixture) {
    let store = opened(&fixture).await;
    let hears = endpoint(1);
    add(&store, &hears).await;
    let mut newest_first = Vec::new();
    for at in 1..=7 {
        newest_first.insert(0, tell(&store, HEARD, at).await);
    }
    for offset in 0..=8 {
        let filter = LogFilter { status: None, created: Period::default() };
        let page = Page::new(2, offset).expect("a page");
        let (events, total) = store.logged(tenant(1), &hears.id, filter, page).await.expect("read");
        let shown: Vec<_> = events.into_iter().map(|event| event.id).collect();
        let from = usize::try_from(offset).expect("small").min(7);
        assert_eq!((&shown[..], total), (&newest_first[from..(from + 2).min(7)], 7), "from {offset}");
    }
}

async fn a_removed_endpoint_is_owed_nothing(fixture: Fixture) {
    let store = opened(&fixture).await;
    let (gone, stays) = (endpoint(1), endpoint(2));
    add(&store, &gone).await;
    add(&store, &stays).await;
    for at in 1..=3 {
        tell(&store, HEARD, at).await;
    }
    store.remove(tenant(1), &gone.id, after(5)).await.expect("removed");
    assert!(matches!(store.remove(tenant(1), &gone.id, after(5)).await, Err(EndpointError::NotFound)));
    assert_eq!(store.endpoint(tenant(1), &gone.id).await.expect("read"), None);
    assert!(claim(&store, &gone, 10, 10).await.is_empty());
    let later = after(5).plus(Endpoint::REMAINS_FOR + Duration::from_millis(1));
    while store.prune(later, Duration::MAX, 1).await.expect("pruned") > 0 {}
    assert_eq!(store.backlog().await.expect("asked").0, 3, "the other one's");
    assert_eq!(counts(&store, &gone).await, [0; 4]);
    assert_eq!(counts(&store, &stays).await, [3, 0, 0, 3]);
    add(&store, &gone).await;
}

async fn what_was_finished_long_ago_is_dropped_and_no_longer_counted(fixture: Fixture) {
    let store = opened(&fixture).await;
    let (hears, also) = (endpoint(1), endpoint(2));
    add(&store, &hears).await;
    add(&store, &also).await;
    for at in 1..=8 {
        tell(&store, HEARD, at * 1_000).await;
    }
    let claimed = claim(&store, &hears, 10_000, 8).await;
    record(&store, &claimed[..3], 200, 10_000).await;
    let of_others = claim(&store, &also, 10_000, 2).await;
    record(&store, &of_others, 410, 10_001).await;
    // Delivered: 1, 2, 3. Still owed: 4 to 8. Of the other, which is gone and disabled by that, all have failed.
    assert_eq!(counts(&store, &hears).await, [5, 3, 0, 8]);
    until(async || counts(&store, &also).await == [0, 0, 8, 8]).await;
    assert_eq!(store.prune(after(1_000), Duration::ZERO, 100).await.expect("pruned"), 0, "none is older");
    assert_eq!(
        store.prune(after(3_000), Duration::ZERO, 3).await.expect("pruned"),
        3,
        "no more than asked for"
    );
    assert_eq!(store.prune(after(3_000), Duration::ZERO, 100).await.expect("pruned"), 1);
    assert_eq!(counts(&store, &hears).await, [5, 1, 0, 6]);
    assert_eq!(counts(&store, &also).await, [0, 0, 6, 6]);
    assert_eq!(store.prune(after(1_000_000), Duration::ZERO, 100).await.expect("pruned"), 7);
    assert_eq!(counts(&store, &hears).await, [5, 0, 0, 5], "what is owed is never dropped");
    assert_eq!(counts(&store, &also).await, [0; 4]);
    record(&store, &claimed[3..], 200, 11_000).await;
    assert_eq!(counts(&store, &hears).await, [0, 5, 0, 5]);
}

async fn what_a_dead_node_had_in_hand_is_freed(fixture: Fixture) {
    let (dead, alive) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&dead, &hears).await;
    for at in 1..=3 {
        tell(&dead, HEARD, at).await;
    }
    let lost = claim(&dead, &hears, 10, 2).await;
    assert_eq!(alive.free_abandoned().await.expect("freed"), 2, "it has never beaten");
    assert_eq!(claim(&alive, &hears, 10, 10).await.len(), 3);
    assert_eq!(alive.free_abandoned().await.expect("freed"), 0, "its own stay in its hands");
    record(&dead, &lost, 200, 11).await;
    assert_eq!(counts(&alive, &hears).await, [3, 0, 0, 3], "a node that comes back does no harm");
}
