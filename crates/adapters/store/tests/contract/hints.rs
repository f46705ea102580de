//! What nodes on one server tell each other.

use std::pin::pin;

use diesel::sql_types::BigInt;
use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use futures_util::{StreamExt as _, future::join_all};
use quipu_commit::{Commit as _, WorkQueue as _};
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
