//! Deliveries whose rows somebody holds locked, on a server: they hold up nothing but themselves.

use std::time::Duration;

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use quipu_commit::Commit as _;
use quipu_kernel::Tenant;
use quipu_ledger::LedgerReads as _;
use quipu_payments::PaymentReads as _;
use quipu_store::{Store, StoreSettings};
use quipu_webhooks::{
    Attempted, DeliveryQueue as _, Endpoint, EndpointChange, EndpointId, Endpoints as _, EventName, Owed,
    Response, RetryPolicy, Spread, TargetUrl, Wanted,
};

use crate::{
    directory::{audit, merchant},
    fixture::{self, Engine, Fixture},
    sample::{Random, START, Sample, after, payment_of, tenant},
};

/// One lane, so that what is asked for at the same time shares a commit.
async fn opened(fixture: &Fixture) -> Store {
    let mut settings = StoreSettings::new(&fixture.url);
    (settings.readers, settings.lanes, settings.lock) = (2, 1, Duration::from_millis(500));
    Store::open(settings, fixture::handle()).await.expect("the store opens")
}

pub(crate) async fn hearing(store: &Store, of: Tenant) -> Endpoint {
    use quipu_merchants::Merchants as _;
    let id = of.merchant().0;
    store.add_merchant(merchant(id), Vec::new(), audit("merchant.create")).await.expect("added");
    let url = TargetUrl::restore("https://merchant.example/hook".to_owned());
    let named = EndpointId::new(START, &Random);
    let endpoint = Endpoint {
        source: quipu_webhooks::Source::Admin,
        ..Endpoint::named(named, of, url, vec![EventName::PaymentCreated], START)
    };
    store.add(endpoint.clone(), None).await.expect("added");
    endpoint
}

pub(crate) async fn claimed(store: &Store, endpoint: &Endpoint) -> Vec<Owed> {
    let wanted =
        Wanted { tenant: endpoint.tenant, endpoint: endpoint.id.clone(), most: 10, bytes: 1_000_000 };
    store.claim(after(1_000), vec![wanted]).await.expect("claimed")
}

pub(crate) async fn locking(fixture: &Fixture, rows: &str) -> AsyncPgConnection {
    let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
    session.batch_execute(&format!("BEGIN; SELECT 1 FROM {rows} FOR UPDATE")).await.expect("locked");
    session
}

/// An outcome whose delivery has failed meanwhile finds a locked row, and a creation shares its commit.
#[test]
fn what_shares_a_commit_with_a_late_outcome_is_stored_if_and_only_if_it_is_acknowledged() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let endpoint = hearing(&store, tenant(1)).await;
        for _ in 0..10 {
            store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("created");
            let owed = claimed(&store, &endpoint).await;
            let disable = EndpointChange::Disable;
            store.change(tenant(1), &endpoint.id, disable, after(2_000)).await.expect("disabled");
            let mut session =
                locking(&fixture, "counters WHERE name = 'deliveries' AND key2 = 'failed'").await;
            let attempted = Attempted {
                started_at: after(1_500),
                duration: Duration::from_millis(5),
                result: Ok(Response::new(200, None, b"")),
            };
            let policy = RetryPolicy::default();
            let outcomes = owed.iter().map(|owed| owed.after(&attempted, &policy, Spread::NONE)).collect();
            let creation = Sample::deposit(tenant(1), 5).create();
            let id = payment_of(&creation).id().clone();
            let create_and_unlock = async {
                let created = store.commit(creation).await;
                session.batch_execute("ROLLBACK").await.expect("unlocked");
                created
            };
            let (_recorded, created) = tokio::join!(store.record(outcomes, &policy), create_and_unlock);
            let stored = store.payment(tenant(1), &id).await.expect("read").is_some();
            assert_eq!(stored, created.is_ok(), "{created:?}");
            store
                .change(tenant(1), &endpoint.id, EndpointChange::Enable, after(3_000))
                .await
                .expect("enabled");
        }
        assert!(store.check().await.expect("checked").is_clean());
    });
}

#[test]
fn a_locked_delivery_of_a_dead_node_holds_up_no_other_of_that_node() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let (locked, other) = (hearing(&store, tenant(1)).await, hearing(&store, tenant(2)).await);
        for of in [1, 2] {
            store.commit(Sample::deposit(tenant(of), 5).create()).await.expect("created");
        }
        fixture.sql("UPDATE deliveries SET node = 'dead'").await.expect("claimed by a node that is no more");
        let rows = format!("deliveries WHERE endpoint_id = '{}'", locked.id);
        let mut session = locking(&fixture, &rows).await;
        assert_eq!(store.free_abandoned().await.expect("nothing waits for the lock"), 1);
        let waiting = store.waiting(after(1_000), None).await.expect("asked");
        assert_eq!(waiting.endpoints, [(other.tenant, other.id.clone())]);
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        assert_eq!(store.free_abandoned().await.expect("freed"), 1);
    });
}

#[test]
fn a_locked_delivery_to_a_disabled_endpoint_holds_up_no_other() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let (disabled, other) = (hearing(&store, tenant(1)).await, hearing(&store, tenant(2)).await);
        for of in [1, 2] {
            store.commit(Sample::deposit(tenant(of), 5).create()).await.expect("created");
        }
        let rows = format!("deliveries WHERE endpoint_id = '{}'", disabled.id);
        let mut session = locking(&fixture, &rows).await;
        let disable = EndpointChange::Disable;
        store.change(tenant(1), &disabled.id, disable, after(500)).await.expect("disabled");
        let wanted = [&disabled, &other].map(|endpoint| Wanted {
            tenant: endpoint.tenant,
            endpoint: endpoint.id.clone(),
            most: 10,
            bytes: 1_000_000,
        });
        let owed = store.claim(after(1_000), wanted.to_vec()).await.expect("nothing waits for the lock");
        assert_eq!(owed.iter().map(|owed| &owed.endpoint.id).collect::<Vec<_>>(), [&other.id]);
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        assert!(claimed(&store, &disabled).await.is_empty());
        let (owed, _) = store.backlog().await.expect("asked");
        assert_eq!(owed, 1, "what was locked has failed by now");
    });
}

/// What it was owed cannot fail at that moment, and does later, though it is not due.
#[test]
fn an_endpoint_is_disabled_though_all_deliveries_are_locked() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let endpoint = hearing(&store, tenant(1)).await;
        store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("created");
        fixture.sql("UPDATE deliveries SET due_at = due_at + 86400000").await.expect("put off");
        assert_eq!(store.waiting(after(1_000), None).await.expect("asked").endpoints, []);
        let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
        session.batch_execute("BEGIN; LOCK TABLE deliveries IN EXCLUSIVE MODE").await.expect("locked");
        let disable = EndpointChange::Disable;
        let disabled = store.change(tenant(1), &endpoint.id, disable, after(500)).await.expect("disabled");
        assert!(!disabled.is_enabled());
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        assert_eq!(store.backlog().await.expect("asked").0, 1);
        let waiting = store.waiting(after(1_000), None).await.expect("asked").endpoints;
        assert_eq!(waiting, [(tenant(1), endpoint.id.clone())]);
        assert!(claimed(&store, &endpoint).await.is_empty());
        assert_eq!(store.backlog().await.expect("asked").0, 0);
    });
}

#[test]
fn endpoints_that_somebody_has_locked_keep_no_other_enabled() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let mut endpoints = Vec::new();
        for of in 1..=6 {
            endpoints.push(hearing(&store, tenant(of)).await);
        }
        let failing = "UPDATE webhook_endpoints SET failing_since = created_at + merchant_id";
        fixture.sql(failing).await.expect("failing");
        let last = endpoints.pop().expect("the last");
        let rows = format!("webhook_endpoints WHERE id <> '{}'", last.id);
        let mut session = locking(&fixture, &rows).await;
        let policy = RetryPolicy { disable_after: Duration::from_secs(10), ..RetryPolicy::default() };
        let disabled = store.disable_failing(after(20_000), &policy, 9).await.expect("disabled");
        assert_eq!(disabled.iter().map(|endpoint| &endpoint.id).collect::<Vec<_>>(), [&last.id]);
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        let disabled = store.disable_failing(after(20_000), &policy, 9).await.expect("disabled");
        assert_eq!(disabled.len(), endpoints.len());
    });
}

/// Whoever delivers at one node hears which endpoints another node has changed, and reads them as they stand.
#[test]
fn a_node_hears_of_endpoints_that_another_one_changes() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (here, there) = (opened(&fixture).await, opened(&fixture).await);
        let endpoint = hearing(&here, tenant(1)).await;
        let heard = std::sync::Arc::new(Heard::default());
        here.deliver_by(std::sync::Arc::clone(&heard) as _);
        let changed = async |change: EndpointChange| {
            heard.0.lock().expect("whole").clear();
            fixture::until(async || {
                let changed = there.change(tenant(1), &endpoint.id, change.clone(), after(500)).await;
                changed.expect("changed");
                heard.0.lock().expect("whole").contains(&endpoint.id)
            })
            .await;
            let found = here.endpoints_now(vec![endpoint.id.clone()]).await.expect("read");
            found.into_iter().next().expect("there").is_enabled()
        };
        assert!(!changed(EndpointChange::Disable).await);
        assert!(changed(EndpointChange::Enable).await);
        there.remove(tenant(1), &endpoint.id, after(1)).await.expect("removed");
        fixture::until(async || heard.0.lock().expect("whole").len() >= 2).await;
        let found = here.endpoints_now(vec![endpoint.id.clone()]).await.expect("read");
        assert!(!found[0].is_enabled(), "what was removed is sent nothing");
        let unknown = EndpointId::new(START, &Random);
        assert!(here.endpoints_now(vec![unknown]).await.expect("read").is_empty());
        here.close().await;
        there.close().await;
    });
}

#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<EndpointId>>);

impl quipu_webhooks::Deliverer for Heard {
    fn hand_over(&self, _: Vec<Owed>) {}

    fn endpoint_changed(&self, _: &Endpoint) {}

    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>) {
        self.0.lock().expect("whole").extend(endpoints.unwrap_or_default());
    }

    fn look(&self) {}
}
