//! Work handed out under a lease.

use std::{collections::BTreeSet, time::Duration};

use futures_util::{FutureExt as _, future::join_all};
use quipu_commit::{
    Aggregate, Changes, Commit as _, DueWork, NewsDesk as _, NewsItem, Queue, Work, WorkChange, WorkInHand,
    WorkQueue as _,
};
use quipu_kernel::Timestamp;
use quipu_payments::{DueAction, Payment, Status};

use crate::{
    fixture::{AnyStore, Fixture, funded_any, on_every_store, until},
    sample::{START, Sample, after, due, move_to, tenant},
};

on_every_store! {
    what_is_due_is_claimed_with_its_action_the_longest_waiting_first,
    what_is_claimed_is_nobody_elses_until_the_lease_ends,
    a_commit_sets_what_is_due_anew,
    a_claim_is_good_until_the_row_is_written_again,
    what_takes_the_place_of_claimed_work_in_its_batch_is_under_no_old_claim,
    what_waits_is_counted_until_it_is_claimed,
    what_is_due_is_shown_again_until_something_is_committed_for_it,
    what_was_shown_is_claimed_unless_it_was_written_meanwhile,
    a_claim_that_is_renewed_is_begun_once,
    what_is_put_off_without_a_claim_counts_its_attempts,
    two_nodes_never_claim_the_same,
}

/// What needs another that listens.
mod databases {
    use super::{a_commit_that_makes_work_is_heard_of, a_listener_hears_of_every_batch};

    crate::fixture::on_both_databases! {
        a_commit_that_makes_work_is_heard_of,
        a_listener_hears_of_every_batch,
    }
}

const QUEUE: Queue = Queue::SETTLEMENT;

pub(crate) fn waiting(at: i64, action: DueAction) -> Sample {
    Sample { due: Some(due(after(at), action)), ..Sample::deposit(tenant(1), 5) }
}

pub(crate) async fn claim(store: &AnyStore, at: i64, until: i64, limit: u32) -> Vec<WorkInHand> {
    let lease = after(until).since(after(at));
    store.claim(QUEUE, after(at), lease, limit).await.expect("claimed")
}

pub(crate) async fn next_due(store: &AnyStore) -> Option<Timestamp> {
    store.next_due(QUEUE).await.expect("asked")
}

pub(crate) fn with(work: WorkChange) -> Changes {
    let mut changes = Changes::new(tenant(1), START);
    changes.work.push(work);
    changes
}

async fn what_is_due_is_claimed_with_its_action_the_longest_waiting_first(fixture: Fixture) {
    let store = fixture.any().await;
    assert_eq!(next_due(&store).await, None);
    for (at, action) in [(30, DueAction::Ask), (10, DueAction::Submit), (20, DueAction::Expire)] {
        store.commit(waiting(at, action).create()).await.expect("committed");
    }
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("nothing due");
    assert_eq!(next_due(&store).await, Some(after(10)));
    assert!(claim(&store, 9, 100, 10).await.is_empty());
    let claimed = claim(&store, 20, 100, 10).await;
    let found: Vec<_> = claimed.iter().map(|work| (work.due, work.action.as_str(), work.attempts)).collect();
    assert_eq!(found, [(after(10), "submit", 1), (after(20), "expire", 1)]);
    assert_eq!(next_due(&store).await, Some(after(30)));
    assert_eq!(claim(&store, 50, 100, 1).await.len(), 1);
}

async fn what_is_claimed_is_nobody_elses_until_the_lease_ends(fixture: Fixture) {
    let store = fixture.any().await;
    store.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    assert_eq!(claim(&store, 10, 60, 10).await.len(), 1);
    assert_eq!(claim(&store, 59, 90, 10).await.len(), 0);
    let again = claim(&store, 60, 90, 10).await;
    assert_eq!((again[0].action.as_str(), again[0].attempts, again[0].due), ("ask", 2, after(10)));
}

async fn a_commit_sets_what_is_due_anew(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let sample = Sample { due: Some(due(after(1), DueAction::Submit)), ..Sample::withdrawal(tenant(1), 10) };
    let made = store.commit(sample.create()).await.expect("committed");
    let payment = made.into_saved::<Payment>().expect("a payment");
    assert_eq!(claim(&store, 1, 60, 10).await.len(), 1);
    let moved = move_to(&payment, Status::Processing, after(2));
    store.commit(moved).await.expect("a claim changes nothing of the payment");
    assert_eq!(next_due(&store).await, None);
    let read = store.payment(tenant(1), payment.id()).await.expect("read").expect("a payment");
    assert_eq!(read.status(), Status::Processing);
}

async fn a_claim_is_good_until_the_row_is_written_again(fixture: Fixture) {
    let store = fixture.any().await;
    store.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    let first = claim(&store, 10, 20, 1).await.remove(0);
    let put_off = WorkChange::PutOff { claim: first.clone(), due: after(40), action: "expire" };
    store.commit(with(put_off.clone())).await.expect("put off");
    assert_eq!(next_due(&store).await, Some(after(40)));
    // Whoever woke up too late does no harm.
    store.commit(with(put_off)).await.expect("nothing happens");
    store.commit(with(WorkChange::Done(first))).await.expect("nothing happens");
    let second = claim(&store, 40, 90, 1).await.remove(0);
    assert_eq!((second.action.as_str(), second.due), ("expire", after(40)));
    store.commit(with(WorkChange::Done(second))).await.expect("done");
    assert_eq!(next_due(&store).await, None);
}

async fn what_takes_the_place_of_claimed_work_in_its_batch_is_under_no_old_claim(fixture: Fixture) {
    let store = fixture.any().await;
    let made = store.commit(waiting(10, DueAction::Expire).create()).await.expect("committed");
    let subject = made.into_saved::<Payment>().expect("a payment").id().to_string();
    let old = claim(&store, 10, 20, 1).await.remove(0);
    let work = Work { queue: QUEUE, subject, action: "submit", due: after(30) };
    let put = WorkChange::Put(work);
    // The first is a batch of its own. The others wait for it, and are the next batch together.
    let first = Sample::deposit(tenant(1), 5).create();
    let batch = [first, with(put), with(WorkChange::Done(old.clone()))];
    for outcome in join_all(batch.map(|changes| store.commit(changes))).await {
        outcome.expect("committed");
    }
    let next = claim(&store, 30, 60, 1).await.remove(0);
    assert_eq!((next.action.as_str(), next.due), ("submit", after(30)));
    store.commit(with(WorkChange::Done(old))).await.expect("nothing happens");
    assert_eq!(next_due(&store).await, Some(after(60)), "it is still claimed");
}

async fn what_waits_is_counted_until_it_is_claimed(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    for at in [30, 10, 20] {
        let due = Some(due(after(at), DueAction::Submit));
        store.commit(Sample { due, ..Sample::withdrawal(tenant(1), 10) }.create()).await.expect("committed");
    }
    store.commit(waiting(5, DueAction::Ask).create()).await.expect("another action");
    let overdue = async |at| {
        let states = store.queues(after(at)).await.expect("counted");
        let submit = states.into_iter().find(|state| state.action == "submit");
        submit.map(|state| (state.queue, state.overdue, state.oldest))
    };
    assert_eq!(overdue(9).await, None);
    assert_eq!(overdue(25).await, Some((QUEUE, 2, Some(after(10)))));
    let claimed = claim(&store, 25, 100, 10).await;
    assert_eq!(overdue(25).await, None);
    assert_eq!(overdue(99).await, Some((QUEUE, 1, Some(after(30)))));
    let claim_of_submission = claimed.into_iter().find(|work| work.action == "submit").expect("claimed");
    let held_up = WorkChange::HoldUp { claim: claim_of_submission, due: after(28) };
    store.commit(with(held_up)).await.expect("committed");
    assert_eq!(overdue(25).await, Some((QUEUE, 1, Some(after(10)))), "it is not done");
    let again = claim(&store, 28, 100, 10).await.remove(0);
    assert_eq!((again.due, again.action.as_str(), again.attempts), (after(10), "submit", 2));
}

/// What a node is shown that is alone. Before its first beat it does not know whether it is.
async fn shown(store: &AnyStore, at: i64, limit: u32) -> DueWork {
    store.beat().await.expect("beaten");
    store.due_here(QUEUE, after(at), limit).await.expect("asked").expect("a node that is alone")
}

async fn what_is_due_is_shown_again_until_something_is_committed_for_it(fixture: Fixture) {
    let store = fixture.any().await;
    for (at, action) in [(30, DueAction::Ask), (10, DueAction::Expire), (20, DueAction::Ask)] {
        store.commit(waiting(at, action).create()).await.expect("committed");
    }
    let first = shown(&store, 20, 10).await;
    let found = |due: &DueWork| -> Vec<_> {
        due.work.iter().map(|work| (work.due, work.action.clone(), work.attempts)).collect()
    };
    assert_eq!(found(&first), [(after(10), "expire".to_owned(), 1), (after(20), "ask".to_owned(), 1)]);
    assert_eq!(first.next, Some(after(30)));
    assert_eq!(shown(&store, 20, 10).await, first);
    assert_eq!(shown(&store, 40, 1).await, DueWork { work: first.work[..1].to_vec(), next: None });
    store.commit(with(WorkChange::Done(first.work[0].clone()))).await.expect("done");
    assert_eq!(found(&shown(&store, 20, 10).await), [(after(20), "ask".to_owned(), 1)]);
    assert_eq!(claim(&store, 20, 100, 10).await.len(), 1);
    assert_eq!(shown(&store, 20, 10).await, DueWork { work: Vec::new(), next: Some(after(30)) });
}

async fn what_was_shown_is_claimed_unless_it_was_written_meanwhile(fixture: Fixture) {
    let store = fixture.any().await;
    for at in [10, 20, 30] {
        store.commit(waiting(at, DueAction::Submit).create()).await.expect("committed");
    }
    let seen = shown(&store, 30, 10).await.work;
    store.commit(with(WorkChange::Done(seen[0].clone()))).await.expect("done");
    let claimed = store.claim_shown(seen.clone(), after(100)).await.expect("claimed");
    let found: Vec<_> = claimed.iter().map(|work| (&work.subject, work.attempts)).collect();
    assert_eq!(found, [(&seen[1].subject, 1), (&seen[2].subject, 1)]);
    assert!(
        store.claim_shown(seen.clone(), after(200)).await.expect("claimed").is_empty(),
        "they are claimed"
    );
    assert!(claim(&store, 99, 200, 10).await.is_empty(), "a claim like any other");
    store.commit(with(WorkChange::Done(seen[1].clone()))).await.expect("nothing happens");
    store.commit(with(WorkChange::Done(claimed[1].clone()))).await.expect("done");
    let left = claim(&store, 100, 200, 10).await;
    let found: Vec<_> = left.iter().map(|work| (&work.subject, work.attempts)).collect();
    assert_eq!(found, [(&seen[1].subject, 2)]);
}

async fn a_claim_that_is_renewed_is_begun_once(fixture: Fixture) {
    let store = fixture.any().await;
    store.commit(waiting(10, DueAction::Submit).create()).await.expect("committed");
    let first = claim(&store, 10, 60, 1).await;
    let renewed = store.claim_shown(first, after(90)).await.expect("claimed");
    assert_eq!(renewed[0].attempts, 1);
    assert!(claim(&store, 89, 200, 1).await.is_empty(), "the lease is the longer one");
    let again = claim(&store, 90, 200, 1).await;
    assert_eq!(again[0].attempts, 2);
}

async fn what_is_put_off_without_a_claim_counts_its_attempts(fixture: Fixture) {
    let store = fixture.any().await;
    store.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    for (at, attempts) in [(10, 1), (20, 2), (30, 3)] {
        let claim = shown(&store, at, 1).await.work.remove(0);
        assert_eq!(claim.attempts, attempts);
        let due = after(at + 10);
        store.commit(with(WorkChange::PutOff { claim, due, action: "ask" })).await.expect("put off");
    }
    assert_eq!(claim(&store, 40, 100, 1).await[0].attempts, 4);
}

/// While another node beats, what is due has to be claimed. A file has one node.
#[test]
fn nothing_is_shown_while_another_node_is_there() {
    crate::fixture::run(crate::fixture::Engine::Postgres, |fixture: Fixture| async move {
        let (one, other) = (fixture.any().await, fixture.any().await);
        one.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
        assert_eq!(one.due_here(QUEUE, after(10), 1).await.expect("asked"), None, "it does not know yet");
        other.beat().await.expect("beaten");
        one.beat().await.expect("beaten");
        assert_eq!(one.due_here(QUEUE, after(10), 1).await.expect("asked"), None);
        assert_eq!(claim(&one, 10, 100, 1).await.len(), 1);
    });
}

async fn two_nodes_never_claim_the_same(fixture: Fixture) {
    let (one, other) = (fixture.any().await, fixture.any().await);
    join_all((0..100).map(|at| one.commit(waiting(at, DueAction::Ask).create()))).await;
    let claims = (0..20).map(|number| {
        let store = if number % 2 == 0 { &one } else { &other };
        claim(store, 1_000, 60_000, 10)
    });
    let mut seen = BTreeSet::new();
    for work in join_all(claims).await.into_iter().flatten() {
        assert!(seen.insert(work.subject), "claimed twice");
    }
    while let rest @ [_, ..] = claim(&one, 1_000, 60_000, 50).await.as_slice() {
        for work in rest {
            assert!(seen.insert(work.subject.clone()), "claimed twice");
        }
    }
    assert_eq!(seen.len(), 100);
}

async fn a_commit_that_makes_work_is_heard_of(fixture: Fixture) {
    let store = fixture.any().await;
    assert!(store.woken(QUEUE, after(10)).now_or_never().is_none());
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    store.commit(waiting(5, DueAction::Ask).create()).await.expect("committed");
    heard_of(&store, 10).await;
    let claim = claim(&store, 5, 1_000_000, 1).await.remove(0);
    store.commit(with(WorkChange::PutOff { claim, due: after(7), action: "ask" })).await.expect("put off");
    heard_of(&store, 10).await;
}

/// There is work in the queue that is due before then.
pub(crate) async fn heard_of(store: &AnyStore, before: i64) {
    let heard = tokio::time::timeout(Duration::from_mins(1), store.woken(QUEUE, after(before))).await;
    heard.expect("heard of");
}

async fn a_listener_hears_of_every_batch(fixture: Fixture) {
    let (one, other) = (fixture.open().await, fixture.open().await);
    let (mut here, mut there) = (one.listen(), other.listen());
    let heard = async |listener: &mut dyn quipu_commit::Listener, id: &str, patience| {
        let wanted = (Aggregate::PAYMENT, tenant(1), id.to_owned());
        loop {
            match tokio::time::timeout(patience, listener.next()).await {
                Ok(NewsItem::News(news)) if news.saved.contains(&wanted) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    };
    let mut remote = false;
    // The other node may not listen yet when the first are committed.
    for _ in 0..20 {
        let made = one.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
        let id = made.into_saved::<Payment>().expect("a payment").id().as_str().to_owned();
        assert!(heard(&mut *here, &id, Duration::from_secs(20)).await);
        if !fixture.is_server() || heard(&mut *there, &id, Duration::from_secs(2)).await {
            remote = true;
            break;
        }
    }
    assert!(remote, "the other node hears nothing");
}

/// A node that knows of no other tells none, until one says that it is there.
#[test]
fn a_node_that_was_alone_tells_one_that_comes() {
    crate::fixture::run(crate::fixture::Engine::Postgres, |fixture: Fixture| async move {
        let alone = fixture.open().await;
        // Whoever begins to hear others says so, once it does.
        let listens =
            "DO $$ BEGIN ASSERT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database ()
            AND state = 'idle' AND query LIKE 'SELECT pg_notify%' AND pid <> pg_backend_pid ()); END $$";
        until(async || fixture.sql(listens).await.is_ok()).await;
        alone.beat().await.expect("nobody else beats");
        let come = fixture.open().await;
        let mut heard_there = come.listen();
        let heard = async {
            loop {
                alone.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
                let next = tokio::time::timeout(Duration::from_millis(100), heard_there.next()).await;
                if let Ok(NewsItem::News(news)) = next
                    && !news.saved.is_empty()
                {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), heard).await.expect("heard of");
    });
}
