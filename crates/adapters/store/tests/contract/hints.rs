//! What nodes on one server tell each other.

use std::{pin::pin, time::Duration};

use diesel::sql_types::BigInt;
use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use futures_util::{StreamExt as _, future::join_all};
use quipu_commit::{Commit as _, Listener, NewsDesk as _, NewsItem, WorkQueue as _};
use quipu_store::{Store, StoreSettings};

use crate::{
    fixture::{self, Engine, Fixture},
    sample::{Sample, tenant},
};

const PAYMENTS: usize = 500;

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

#[test]
fn a_batch_is_told_to_other_nodes_once_at_most() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        // Whoever is alone tells nobody.
        let other = fixture.open().await;
        other.beat().await.expect("beaten");
        let settings = StoreSettings { lanes: 1, ..StoreSettings::new(&fixture.url) };
        let store = Store::open(settings, fixture::handle()).await.expect("the store opens");
        store.beat().await.expect("beaten");
        let mut listening = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
        listening.batch_execute("LISTEN quipu").await.expect("it listens");
        let creations = (0..PAYMENTS).map(|_| store.commit(Sample::deposit(tenant(1), 10).create()));
        for outcome in join_all(creations).await {
            outcome.expect("committed");
        }
        let counting = diesel::sql_query("SELECT COUNT(DISTINCT xmin::TEXT) AS count FROM payments");
        let batches: Count = counting.get_result(&mut listening).await.expect("counted");
        assert!(batches.count < 400, "{} batches are hardly any", batches.count);
        // What it has to tell is told before it ends.
        store.close().await;
        fixture.sql("SELECT pg_notify('quipu', 'the end')").await.expect("told");
        let mut hints = 0;
        let mut told = pin!(listening.notifications_stream());
        loop {
            let hint = told.next().await.expect("there is more").expect("a hint").payload;
            if hint == "the end" {
                break;
            }
            hints += i64::from(hint.contains("payments/1/"));
        }
        assert!((1..=batches.count).contains(&hints), "{hints} hints of {} batches", batches.count);
    });
}

/// Waits until a listener is told that it may have missed something.
async fn told_of_a_gap(listener: &mut dyn Listener) {
    let told = async { while !matches!(listener.next().await, NewsItem::Missed) {} };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("told");
}

/// Takes everything that a listener was told so far.
async fn drain(listener: &mut dyn Listener) {
    while tokio::time::timeout(Duration::from_millis(500), listener.next()).await.is_ok() {}
}

#[test]
fn a_node_that_was_forgotten_learns_that_it_has_missed_something() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (store, other) = (fixture.open().await, fixture.open().await);
        for node in [&store, &other, &store] {
            node.beat().await.expect("beaten");
        }
        fixture.sql("DELETE FROM nodes").await.expect("deleted");
        // Longer than a node counts after it was last heard of.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let mut heard = other.listen();
        drain(&mut *heard).await;
        store.commit(Sample::deposit(tenant(1), 10).create()).await.expect("committed, and told nobody");
        other.beat().await.expect("beaten");
        store.beat().await.expect("beaten");
        told_of_a_gap(&mut *heard).await;
    });
}

#[test]
fn who_outlives_another_node_looks_for_what_that_did_not_tell() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let (store, other) = (fixture.open().await, fixture.open().await);
        for node in [&other, &store] {
            node.beat().await.expect("beaten");
        }
        let mut heard = store.listen();
        drain(&mut *heard).await;
        // A third node has found it dead and forgotten it.
        fixture.sql("DELETE FROM nodes").await.expect("deleted");
        store.beat().await.expect("beaten");
        told_of_a_gap(&mut *heard).await;
    });
}
