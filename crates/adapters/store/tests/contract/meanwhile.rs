//! What another session has locked, or changes meanwhile, holds up nothing else.

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use quipu_commit::{Claimed, Commit as _, Queue, WorkQueue as _};
use quipu_payments::DueAction;
use quipu_store::Store;

use crate::{
    fixture::{self, Engine, Fixture},
    sample::{Sample, after, due, tenant},
};

/// A session that has run this and goes on.
async fn session(fixture: &Fixture, statements: &str) -> AsyncPgConnection {
    let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
    session.batch_execute(statements).await.expect("executed");
    session
}

async fn claim(store: &Store) -> Vec<Claimed> {
    store.claim(Queue::SETTLEMENT, after(20), after(1_000_000), 10).await.expect("claimed")
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
        alive.beat().await.expect("beaten");
        late.beat().await.expect("beaten by a node that was not there before");
        assert_eq!(claim(&alive).await.len(), 2, "what is not locked is given to others at once");
        let two = "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM nodes) = 2; END $$";
        fixture.sql(two).await.expect("the dead one is forgotten, so that its deliveries are free");
        locking.batch_execute("ROLLBACK").await.expect("unlocked");
        alive.beat().await.expect("beaten");
        assert_eq!(claim(&alive).await.len(), 1, "what was locked is given to others later");
    });
}
