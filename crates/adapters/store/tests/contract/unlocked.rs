//! Whose rows nobody has locked is held up by no lock of others, on a server; and what met a lock is lost nowhere.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection as _;
use futures_util::{FutureExt as _, future::join_all};
use quipu_commit::{Commit as _, WorkQueue as _};
use quipu_ledger::LedgerReads as _;
use quipu_store::{Store, StoreSettings};
use quipu_webhooks::{
    Attempted, DeliveryQueue as _, Endpoint, EndpointChange, Endpoints as _, Outcome, Response, RetryPolicy,
    Spread,
};
use tokio::time::timeout;

use crate::{
    fixture::{self, Engine, Fixture, until},
    locked::{claimed, hearing, locking},
    sample::{MXN, Sample, after, funding, minor, tenant},
};

/// More merchants than may wait for locks at a time.
const MANY: i64 = 30;

/// A store whose callers wait until everybody else has been served.
async fn patient(fixture: &Fixture) -> Store {
    let mut settings = StoreSettings::new(&fixture.url);
    (settings.readers, settings.lanes) = (2, 1);
    (settings.call, settings.lock) = (Duration::from_mins(1), Duration::from_secs(3));
    Store::open(settings, fixture::handle()).await.expect("the store opens")
}

/// Waits until as many sessions wait for locks.
async fn until_waiting(fixture: &Fixture, sessions: usize) {
    let waits = format!(
        "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock') >= {sessions}; END $$"
    );
    until(async || fixture.sql(&waits).await.is_ok()).await;
}

#[test]
fn a_merchant_whose_rows_are_free_again_is_served_while_others_are_locked() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = patient(&fixture).await;
        let free = tenant(MANY + 1);
        for merchant in 1..=MANY + 1 {
            store.commit(funding(tenant(merchant), 1_000)).await.expect("funded");
        }
        let _locked = locking(&fixture, &format!("balances WHERE merchant_id <= {MANY}")).await;
        let withdraw = async |of| store.commit(Sample::withdrawal(of, 1).create()).await;
        let others = join_all((1..=MANY).map(|merchant| async move {
            loop {
                assert!(withdraw(tenant(merchant)).await.is_err(), "it is locked");
            }
        }));
        let unlocked = async {
            until_waiting(&fixture, 5).await;
            let mut once = locking(&fixture, &format!("balances WHERE merchant_id > {MANY}")).await;
            let busy = async || {
                for _ in 0..20 {
                    withdraw(free).await.expect("nobody locks its row");
                }
            };
            let mut first = busy().boxed();
            // Long enough for the lane to be rid of it.
            assert!(timeout(Duration::from_millis(500), &mut first).await.is_err(), "its row is locked");
            let mut rest = join_all([busy(), busy(), busy()]).boxed();
            assert!((&mut rest).now_or_never().is_none());
            once.batch_execute("ROLLBACK").await.expect("unlocked");
            tokio::join!(first, rest);
        };
        tokio::select! {
            _ = others => {}
            () = unlocked => {}
        }
    });
}

/// The first changes have the money, though they wait aside and come back to the lane in several batches, and though
/// their rows are locked once more or the store closes meanwhile.
#[test]
fn what_waited_aside_is_done_in_its_order() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (of, asked, possible) = (tenant(1), 2_500, 1_900);
        for (is_locked_again, closes) in [(false, false), (true, false), (false, true)] {
            let store = patient(&fixture).await;
            let left = store.balance(of, MXN).await.expect("read").available.get();
            store.commit(funding(of, possible - left)).await.expect("funded");
            let mut session = locking(&fixture, "balances").await;
            let withdraw = async || store.commit(Sample::withdrawal(of, 1).create()).await;
            let mut first = withdraw().boxed();
            assert!((&mut first).now_or_never().is_none());
            let mut rest = join_all((1..asked).map(|_| withdraw())).boxed();
            assert!((&mut rest).now_or_never().is_none());
            until_waiting(&fixture, 1).await;
            session.batch_execute("ROLLBACK").await.expect("unlocked");
            let meanwhile = async {
                first.await.expect("unlocked");
                if is_locked_again {
                    let lock = "BEGIN; SELECT 1 FROM balances FOR UPDATE; SELECT pg_sleep(0.2); ROLLBACK";
                    session.batch_execute(lock).await.expect("locked for longer than a lane waits");
                }
                if closes {
                    store.clone().close().await;
                }
            };
            let (rest, ()) = tokio::join!(rest, meanwhile);
            for (number, told) in (1..).zip(rest) {
                assert_eq!(told.is_ok(), number < possible, "{number}: {told:?}");
            }
            let store = patient(&fixture).await;
            assert_eq!(store.balance(of, MXN).await.expect("read").available, minor(0));
            assert!(store.check().await.expect("checked").is_clean());
        }
    });
}

async fn heard_by_many(store: &Store) -> (Vec<Endpoint>, Endpoint) {
    let mut endpoints = Vec::new();
    for merchant in 1..=MANY + 1 {
        endpoints.push(hearing(store, tenant(merchant)).await);
    }
    let free = endpoints.pop().expect("the last");
    (endpoints, free)
}

#[test]
fn an_endpoint_that_nobody_locks_is_changed_while_others_are_locked() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = patient(&fixture).await;
        let (locked, free) = heard_by_many(&store).await;
        let mut session = locking(&fixture, &format!("webhook_endpoints WHERE id <> '{}'", free.id)).await;
        let disable =
            async |of: &Endpoint| store.change(of.tenant, &of.id, EndpointChange::Disable, after(500)).await;
        let mut others = join_all(locked.iter().map(disable)).boxed();
        tokio::select! {
            told = &mut others => panic!("all of them are locked: {told:?}"),
            () = until_waiting(&fixture, 1) => {}
        }
        disable(&free).await.expect("nobody locks it");
        assert!((&mut others).now_or_never().is_none(), "it waited for all others");
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        assert!(others.await.iter().any(Result::is_ok), "the lock was waited for");
    });
}

#[test]
fn an_endpoint_that_nobody_locks_is_disabled_by_an_outcome_while_others_are_locked() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = patient(&fixture).await;
        let (locked, free) = heard_by_many(&store).await;
        let policy = RetryPolicy::default();
        let answered = async |endpoint: &Endpoint, status| {
            store.commit(Sample::deposit(endpoint.tenant, 5).create()).await.expect("created");
            let result = Ok(Response::new(status, None, b""));
            let attempted =
                Attempted { started_at: after(1_500), duration: Duration::from_millis(5), result };
            let owed = claimed(&store, endpoint).await;
            owed.iter().map(|owed| owed.after(&attempted, &policy, Spread::NONE)).collect::<Vec<Outcome>>()
        };
        let mut failures = Vec::new();
        for endpoint in &locked {
            failures.push(answered(endpoint, 500).await);
        }
        let gone = answered(&free, 410).await;
        let mut session = locking(&fixture, &format!("webhook_endpoints WHERE id <> '{}'", free.id)).await;
        let mut others =
            join_all(failures.into_iter().map(|outcomes| store.record(outcomes, &policy))).boxed();
        tokio::select! {
            told = &mut others => panic!("all of them are locked: {told:?}"),
            () = until_waiting(&fixture, 1) => {}
        }
        store.record(gone, &policy).await.expect("nobody locks it");
        assert!((&mut others).now_or_never().is_none(), "it waited for all others");
        let now = store.endpoint(free.tenant, &free.id).await.expect("read").expect("there");
        assert!(!now.is_enabled());
        session.batch_execute("ROLLBACK").await.expect("unlocked");
    });
}

/// Otherwise other nodes would take this one for dead.
#[test]
fn changes_that_wait_for_locked_endpoints_leave_connections_to_heartbeats_and_look_ups() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = patient(&fixture).await;
        let (endpoints, one) = heard_by_many(&store).await;
        let mut session = locking(&fixture, "webhook_endpoints").await;
        let changes =
            endpoints.iter().map(|of| store.change(of.tenant, &of.id, EndpointChange::Disable, after(500)));
        let mut changes = join_all(changes).boxed();
        // A brief try never waits for so long.
        let one_waits =
            "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND datname = current_database() AND clock_timestamp() - query_start > '500 ms') <= 1; END $$";
        let beats_and_look_ups = async {
            until_waiting(&fixture, 1).await;
            for _ in 0..40 {
                store.beat().await.expect("the node is alive");
                store.endpoint(one.tenant, &one.id).await.expect("read").expect("there");
                fixture.sql(one_waits).await.expect("the other connection is left to others");
            }
        };
        tokio::select! {
            told = &mut changes => panic!("they waited for locked rows: {told:?}"),
            () = beats_and_look_ups => {}
        }
        session.batch_execute("ROLLBACK").await.expect("unlocked");
        assert!(changes.await.iter().any(Result::is_ok), "the lock was waited for");
    });
}
