//! What whoever delivers at a node is handed and told; what a commit owes that nobody could learn about is sent all the same.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use quipu_commit::{Commit as _, CommitError, WorkQueue as _};
use quipu_kernel::StoreError;
use quipu_merchants::Merchants as _;
use quipu_store::{Store, StoreSettings};
use quipu_webhooks::{
    Attempted, Deliverer, DeliveryQueue, Endpoint, EndpointChange, EndpointError, EndpointId, Endpoints as _,
    EventName, Owed, Response, RetryPolicy, Source, Spread, TargetUrl, Wanted,
};

use crate::{
    directory::{audit, merchant},
    fixture::{self, Engine, Fixture, on_both_databases, until},
    proxy::{Action, Blow, Point, Proxy, Side},
    sample::{Random, START, Sample, after, tenant},
};

on_both_databases! {
    what_a_dead_node_had_in_hand_is_looked_for_as_soon_as_it_is_forgotten,
    whoever_delivers_here_learns_of_every_change_of_an_endpoint,
    what_this_node_claimed_and_does_not_have_is_found_and_released,
}

/// What was handed over, how often somebody was told to look, of each change of an endpoint whether it was enabled then, and
/// which endpoints may have changed.
#[derive(Default)]
struct Handed(Mutex<Vec<Owed>>, AtomicUsize, Mutex<Vec<bool>>, Mutex<Vec<EndpointId>>);

impl Handed {
    fn changes(&self) -> Vec<bool> {
        self.2.lock().expect("whole").clone()
    }
}

impl Deliverer for Handed {
    fn hand_over(&self, mut deliveries: Vec<Owed>) {
        self.0.lock().expect("whole").append(&mut deliveries);
    }

    fn endpoint_changed(&self, endpoint: &Endpoint) {
        self.2.lock().expect("whole").push(endpoint.is_enabled());
    }

    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>) {
        self.3.lock().expect("whole").extend(endpoints.unwrap_or_default());
    }

    fn look(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

fn endpoint() -> Endpoint {
    let url = TargetUrl::restore("https://merchant.example/hook".to_owned());
    let named = EndpointId::new(START, &Random);
    Endpoint {
        source: Source::Admin,
        ..Endpoint::named(named, tenant(1), url, vec![EventName::PaymentCreated], START)
    }
}

/// How long a call may take. Its longest single wait is shorter than the server is gone for.
const PATIENCE: Duration = Duration::from_secs(5);

async fn delivering(url: &str) -> (Store, Arc<Handed>) {
    let mut settings = StoreSettings::new(url);
    (settings.readers, settings.lanes, settings.call) = (2, 1, PATIENCE);
    let store = Store::open(settings, fixture::handle()).await.expect("the store opens");
    let handed = Arc::new(Handed::default());
    store.deliver_by(Arc::clone(&handed) as _);
    store.beat().await.expect("the node is known to live");
    (store, handed)
}

/// A store that delivers and reaches its server through a proxy, and that already has a merchant with this endpoint.
async fn behind_a_proxy(fixture: &Fixture, endpoint: &Endpoint) -> (Proxy, Store, Arc<Handed>) {
    let direct = fixture.open().await;
    direct.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await.expect("added");
    direct.add(endpoint.clone(), None).await.expect("added");
    let proxy = Proxy::before(&fixture.url, &fixture::handle()).await;
    let (store, handed) = delivering(&proxy.url).await;
    (proxy, store, handed)
}

/// The server commits, its answer does not arrive, and for longer than anybody waits nobody can be asked.
const LOST: Blow = Blow {
    side: Side::Server,
    at: Point::Commit,
    arrives: false,
    action: Action::Cut,
    gone_for: Duration::from_secs(12),
};

async fn until_freed(store: &Store) {
    let mut freed = 0;
    until(async || {
        freed += store.free_abandoned().await.unwrap_or(0);
        freed > 0
    })
    .await;
    assert_eq!(freed, 1);
}

#[test]
fn deliveries_of_an_unknown_commit_or_claim_are_free_again() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let endpoint = endpoint();
        let (proxy, store, handed) = behind_a_proxy(&fixture, &endpoint).await;
        store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
        until(async || handed.0.lock().expect("whole").len() == 1).await;

        proxy.arm(Some(LOST));
        let outcome = store.commit(Sample::deposit(tenant(1), 5).create()).await;
        let unknown = matches!(outcome, Err(CommitError::Store(StoreError::OutcomeUnknown(_))));
        assert!(unknown, "{outcome:?}");
        assert_eq!(handed.0.lock().expect("whole").len(), 1, "what may not be owed is handed over");

        until_freed(&store).await;
        let wanted = vec![Wanted { tenant: tenant(1), endpoint: endpoint.id, most: 10, bytes: 1_000_000 }];
        proxy.arm(Some(LOST));
        let outcome = DeliveryQueue::claim(&store, after(1_000), wanted.clone()).await;
        assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
        until_freed(&store).await;
        let claimed = DeliveryQueue::claim(&store, after(1_000), wanted).await.expect("claimed");
        assert_eq!(claimed.len(), 1);
        assert_ne!(claimed[0].event_id, handed.0.lock().expect("whole")[0].event_id);
        store.close().await;
    });
}

#[test]
fn an_endpoint_that_may_have_changed_is_read_again() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let endpoint = endpoint();
        let (proxy, store, handed) = behind_a_proxy(&fixture, &endpoint).await;
        let doubted = || std::mem::take(&mut *handed.3.lock().expect("whole"));
        proxy.arm(Some(LOST));
        let disabled = store.change(tenant(1), &endpoint.id, EndpointChange::Disable, after(1)).await;
        let is_unknown = |error| matches!(error, EndpointError::Store(StoreError::OutcomeUnknown(_)));
        assert!(disabled.is_err_and(is_unknown));
        let is_told = |told: Vec<EndpointId>| !told.is_empty() && told.iter().all(|id| *id == endpoint.id);
        assert!(is_told(doubted()));
        until(async || store.beat().await.is_ok()).await;
        proxy.arm(Some(LOST));
        assert!(store.remove(tenant(1), &endpoint.id, after(2)).await.is_err_and(is_unknown));
        assert!(is_told(doubted()));
        assert!(handed.changes().is_empty(), "neither is known to have happened");
        store.close().await;
    });
}

async fn what_a_dead_node_had_in_hand_is_looked_for_as_soon_as_it_is_forgotten(fixture: Fixture) {
    let (dead, alive) = (fixture.open().await, fixture.open().await);
    let handed = Arc::new(Handed::default());
    alive.deliver_by(Arc::clone(&handed) as _);
    dead.beat().await.expect("it lived");
    for (passing, looks) in [("0", 0), ("8000", 1), ("0", 1)] {
        fixture.sql(&format!("UPDATE nodes SET beat_at = beat_at - {passing}")).await.expect("time passes");
        alive.beat().await.expect("beaten");
        alive.release_dead().await.expect("looked for");
        assert_eq!(handed.1.load(Ordering::Relaxed), looks);
    }
}

async fn what_this_node_claimed_and_does_not_have_is_found_and_released(fixture: Fixture) {
    let (store, handed) = delivering(&fixture.url).await;
    let (other, _) = delivering(&fixture.url).await;
    let endpoint = endpoint();
    store.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await.expect("added");
    store.add(endpoint.clone(), None).await.expect("added");
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    until(async || handed.0.lock().expect("whole").len() == 1).await;
    let (due, key) = {
        let handed = handed.0.lock().expect("whole");
        (handed[0].due_at, handed[0].key())
    };
    let (before, later) = (due, due.plus(Duration::from_millis(1)));
    assert_eq!(store.long_in_hand(before, 10).await.expect("read"), []);
    assert_eq!(other.long_in_hand(later, 10).await.expect("read"), [], "another node has it");
    assert_eq!(store.long_in_hand(later, 10).await.expect("read"), std::slice::from_ref(&key));
    let waiting = async || store.waiting(later, None).await.expect("read").endpoints;
    other.release_lost(vec![key.clone()]).await.expect("nothing happens");
    assert_eq!(waiting().await, []);
    store.release_lost(vec![key]).await.expect("released");
    assert_eq!(waiting().await, [(tenant(1), endpoint.id)]);
}

async fn whoever_delivers_here_learns_of_every_change_of_an_endpoint(fixture: Fixture) {
    let (store, handed) = delivering(&fixture.url).await;
    let endpoint = endpoint();
    store.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await.expect("added");
    store.add(endpoint.clone(), None).await.expect("added");
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    until(async || handed.0.lock().expect("whole").len() == 1).await;
    let (policy, result) = (RetryPolicy::default(), Ok(Response::new(410, None, b"")));
    let gone = Attempted { started_at: after(1), duration: Duration::from_millis(5), result };
    let outcome = handed.0.lock().expect("whole")[0].after(&gone, &policy, Spread::NONE);
    store.record(vec![outcome], &policy).await.expect("recorded");
    assert_eq!(handed.changes(), [false]);
    // A caller that goes away does not take the change with it, nor that it is told.
    let _gone = store.change(tenant(1), &endpoint.id, EndpointChange::Enable, after(2)).now_or_never();
    until(async || handed.changes() == [false, true]).await;
    store.change(tenant(1), &endpoint.id, EndpointChange::Disable, after(3)).await.expect("disabled");
    assert_eq!(handed.changes(), [false, true, false]);
    store.remove(tenant(1), &endpoint.id, after(4)).await.expect("removed");
    assert_eq!(handed.changes(), [false, true, false, false]);
}

/// How much was owed according to the file at each change of an endpoint.
struct Counting(String, Mutex<Vec<i64>>);

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    count: i64,
}

impl Deliverer for Counting {
    fn hand_over(&self, _: Vec<Owed>) {}

    fn endpoint_changed(&self, _: &Endpoint) {
        use diesel::{Connection as _, RunQueryDsl as _};
        let mut conn = diesel::SqliteConnection::establish(&self.0).expect("the database opens");
        let owed = diesel::sql_query("SELECT COUNT(*) AS count FROM deliveries WHERE status = 0");
        let owed: Count = owed.get_result(&mut conn).expect("counted");
        self.1.lock().expect("whole").push(owed.count);
    }

    fn changed_elsewhere(&self, _: Option<Vec<EndpointId>>) {}

    fn look(&self) {}
}

#[test]
fn whoever_delivers_here_learns_of_a_change_before_what_was_owed_has_failed() {
    fixture::run(Engine::Sqlite, |fixture: Fixture| async move {
        let store = fixture.open().await;
        let endpoint = endpoint();
        store.add_merchant(merchant(1), Vec::new(), audit("merchant.create")).await.expect("added");
        store.add(endpoint.clone(), None).await.expect("added");
        store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
        let path = fixture.url.trim_start_matches("sqlite://").to_owned();
        let counting = Arc::new(Counting(path, Mutex::default()));
        store.deliver_by(Arc::clone(&counting) as _);
        store.change(tenant(1), &endpoint.id, EndpointChange::Disable, after(1)).await.expect("disabled");
        assert_eq!(*counting.1.lock().expect("whole"), [1]);
        assert_eq!(store.backlog().await.expect("asked").0, 0);
        store.close().await;
    });
}
