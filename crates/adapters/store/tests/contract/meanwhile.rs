//! What another session has locked, or changes meanwhile, holds up nothing else.

use std::time::Duration;

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::future::join;
use quipu_commit::{Commit as _, Queue, WorkInHand, WorkQueue as _};
use quipu_kernel::MerchantId;
use quipu_payments::DueAction;
use quipu_store::Store;
use quipu_webhooks::{Endpoint, EndpointChange, RetrySelection};

use crate::{
    deliveries::{add, endpoint, opened, tell_many},
    directory,
    fixture::{self, AnyDeliveries, Engine, Fixture, until},
    sample::{Sample, after, due, tenant},
};

/// A session that has run this and goes on.
async fn session(fixture: &Fixture, statements: &str) -> AsyncPgConnection {
    let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
    session.batch_execute(statements).await.expect("executed");
    session
}

async fn claim(store: &Store) -> Vec<WorkInHand> {
    store.claim(Queue::SETTLEMENT, after(20), Duration::from_secs(1_000), 10).await.expect("claimed")
}

#[test]
fn a_locked_row_of_a_dead_nodes_work_keeps_nobody_from_beating() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (dead, alive, late) = (fixture.open().await, fixture.open().await, fixture.open().await);
        dead.beat().await.expect("it lived");
        for _ in 0..3 {
            let waiting = Some(due(after(10), DueAction::Ask));
            let sample = Sample { due: waiting, ..Sample::deposit(tenant(1), 5) };
            dead.commit(sample.create()).await.expect("committed");
        }
        assert_eq!(claim(&dead).await.len(), 3);
        fixture.sql("UPDATE nodes SET beat_at = beat_at - 8000").await.expect("eight seconds pass");
        let lock = "BEGIN; SELECT FROM work WHERE subject = (SELECT MIN(subject) FROM work) FOR UPDATE";
        let mut locking = session(&fixture, lock).await;
        for node in [&alive, &late] {
            node.beat().await.expect("beaten");
            node.release_dead().await.expect("released, one of them by a node that was not there before");
        }
        assert_eq!(claim(&alive).await.len(), 2, "what is not locked is given to others at once");
        let two = "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM nodes) = 2; END $$";
        fixture.sql(two).await.expect("the dead one is forgotten, so that its deliveries are free");
        locking.batch_execute("ROLLBACK").await.expect("unlocked");
        alive.release_dead().await.expect("released");
        assert_eq!(claim(&alive).await.len(), 1, "what was locked is given to others later");
    });
}

/// Another node took it for dead and forgot it while it stood still. It claims before its next heartbeat, and then dies.
#[test]
fn what_a_forgotten_node_claims_is_given_to_others_in_seconds() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (forgotten, alive) = (fixture.open().await, fixture.open().await);
        for node in [&forgotten, &alive] {
            node.beat().await.expect("beaten");
        }
        let waiting = Some(due(after(10), DueAction::Ask));
        let sample = Sample { due: waiting, ..Sample::deposit(tenant(1), 5) };
        forgotten.commit(sample.create()).await.expect("committed");
        fixture.sql("DELETE FROM nodes").await.expect("forgotten");
        alive.beat().await.expect("beaten");
        assert_eq!(claim(&forgotten).await.len(), 1);
        alive.release_dead().await.expect("looked for");
        assert!(claim(&alive).await.is_empty(), "it may live, and has a while for a heartbeat");
        let given = async || {
            alive.release_dead().await.expect("looked for");
            claim(&alive).await.len() == 1
        };
        until(given).await;
    });
}

/// An endpoint with more failed deliveries than are retried in one commit.
async fn many_failed(store: &AnyDeliveries) -> Endpoint {
    let hears = endpoint(1);
    add(store, &hears).await;
    tell_many(store).await;
    for change in [EndpointChange::Disable, EndpointChange::Enable] {
        store.change(tenant(1), &hears.id, change, after(2)).await.expect("changed");
    }
    hears
}

/// The first commit has begun its rounds before the second one finds a locked row.
#[test]
fn a_retry_that_ends_early_answers_how_many_it_began() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let hears = many_failed(&store).await;
        let last = "BEGIN; SELECT FROM deliveries WHERE event_id = (SELECT MAX(event_id) FROM deliveries) FOR UPDATE";
        let mut locking = session(&fixture, last).await;
        let retry = async || store.retry(tenant(1), &hears.id, RetrySelection::default(), after(3)).await;
        assert_eq!(retry().await.expect("retried"), 2_000);
        locking.batch_execute("ROLLBACK").await.expect("unlocked");
        assert_eq!(retry().await.expect("retried"), 500);
    });
}

#[test]
fn all_failed_deliveries_are_retried_whatever_changes_meanwhile() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = opened(&fixture).await;
        let hears = many_failed(&store).await;
        let delivered = "BEGIN; UPDATE deliveries SET status = 1, error = NULL
            WHERE event_id = (SELECT MIN(event_id) FROM deliveries)";
        let mut other = session(&fixture, delivered).await;
        let waits = "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock') = 1; END $$";
        let committed = async {
            until(async || fixture.sql(waits).await.is_ok()).await;
            other.batch_execute("COMMIT").await.expect("committed");
        };
        let retrying = store.retry(tenant(1), &hears.id, RetrySelection::default(), after(3));
        assert_eq!(join(retrying, committed).await.0.expect("retried"), 2_499);
    });
}

#[test]
fn a_locked_key_keeps_no_other_use_from_being_noted() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let store = directory::opened(&fixture).await;
        for id in ["free", "locked"] {
            store
                .add_api_key(directory::key(id, 1), directory::audit("api_key.create"))
                .await
                .expect("added");
        }
        let lock = "BEGIN; SELECT FROM api_keys WHERE key_id = 'locked' FOR UPDATE";
        let _locking = session(&fixture, lock).await;
        let uses = ["free", "locked"].map(|id| (id.to_owned(), after(7))).to_vec();
        store.note_api_keys_used(uses).await.expect("noted");
        let mut keys = store.api_keys(MerchantId(1)).await.expect("read");
        keys.sort_by(|one, other| one.key_id.cmp(&other.key_id));
        assert_eq!([keys[0].last_used_at, keys[1].last_used_at], [Some(after(7)), None]);
    });
}
