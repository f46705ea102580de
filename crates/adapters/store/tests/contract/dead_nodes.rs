//! Work of nodes that have died.

use quipu_commit::{Changes, MAX_CLOCK_SKEW, WorkChange};
use quipu_payments::DueAction;

use crate::{
    claims::{claim, heard_of, next_due, waiting, with},
    fixture::{Fixture, on_every_store},
    sample::after,
};

on_every_store! {
    what_all_nodes_have_claimed_can_be_given_back,
    what_is_taken_with_its_commit_is_due_at_once_if_its_node_dies,
}

/// What needs the clock of a database.
mod databases {
    use super::{
        what_a_silent_node_took_is_given_to_others,
        work_of_a_node_is_given_to_others_if_its_heartbeat_lies_ahead,
        work_of_a_silent_node_is_given_to_others,
    };

    crate::fixture::on_both_databases! {
        work_of_a_silent_node_is_given_to_others,
        work_of_a_node_is_given_to_others_if_its_heartbeat_lies_ahead,
        what_a_silent_node_took_is_given_to_others,
    }
}

async fn work_of_a_silent_node_is_given_to_others(fixture: Fixture) {
    given_to_others_after(&fixture, -8_000).await;
}

async fn work_of_a_node_is_given_to_others_if_its_heartbeat_lies_ahead(fixture: Fixture) {
    given_to_others_after(&fixture, 8_000).await;
}

/// A node dies, and the clock of the database goes on, or is set back.
async fn given_to_others_after(fixture: &Fixture, by: i64) {
    let (silent, alive) = (fixture.any().await, fixture.any().await);
    silent.beat().await.expect("it lived");
    silent.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    let lost = claim(&silent, 10, 1_000_000, 1).await.remove(0);
    alive.beat().await.expect("beaten");
    alive.release_dead().await.expect("looked for");
    assert!(claim(&alive, 20, 1_000_000, 1).await.is_empty(), "it was heard of just now");
    let moved = format!("UPDATE nodes SET beat_at = beat_at + {by}");
    fixture.sql(&moved).await.expect("the clock moves");
    alive.beat().await.expect("beaten");
    alive.release_dead().await.expect("looked for");
    heard_of(&alive, 10).await;
    assert_eq!(claim(&alive, 20, 1_000_000, 1).await.len(), 1);
    silent.commit(with(WorkChange::Done(lost))).await.expect("nothing happens");
    assert_eq!(next_due(&alive).await, Some(after(1_000_000)), "it is still the other's");
}

async fn what_all_nodes_have_claimed_can_be_given_back(fixture: Fixture) {
    let (before, now) = (fixture.any().await, fixture.any().await);
    before.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    assert_eq!(claim(&before, 10, 1_000_000, 1).await.len(), 1);
    now.release_all().await.expect("given back");
    assert_eq!(claim(&now, 10, 1_000_000, 1).await.len(), 1);
}

/// A commit at 10 whose node does at once what is otherwise due at 30.
fn taking(mut sample: Changes) -> Changes {
    sample.at = after(10);
    for change in &mut sample.work {
        if let WorkChange::Put(work) = change {
            *change = WorkChange::Take(work.clone());
        }
    }
    sample
}

async fn what_is_taken_with_its_commit_is_due_at_once_if_its_node_dies(fixture: Fixture) {
    let (before, now) = (fixture.any().await, fixture.any().await);
    before.commit(taking(waiting(30, DueAction::Submit).create())).await.expect("committed");
    assert_eq!(next_due(&now).await, Some(after(30)), "its node does it");
    assert!(claim(&now, 29, 1_000, 1).await.is_empty(), "its node does it");
    now.release_all().await.expect("given back");
    let claimed = claim(&now, 10, 1_000, 1).await.remove(0);
    assert_eq!((claimed.action.as_str(), claimed.due), ("submit", after(10)));
    before.commit(taking(waiting(30, DueAction::Submit).create())).await.expect("committed");
    let late = 1_000 + i64::try_from(MAX_CLOCK_SKEW.as_millis()).expect("a few minutes");
    let again = claim(&now, late, late + 1, 3).await;
    assert_eq!(again.len(), 2, "its time has come, whatever became of its node");
}

/// What a node has claimed or taken is its own while it lives, for a node too whose clock is ahead. A file has one node.
#[test]
fn a_lease_ends_for_others_when_it_is_over_by_every_clock() {
    crate::fixture::run(crate::fixture::Engine::Postgres, |fixture: Fixture| async move {
        let skew = i64::try_from(MAX_CLOCK_SKEW.as_millis()).expect("a few minutes");
        let (holder, ahead) = (fixture.any().await, fixture.any().await);
        for (made, until) in
            [(taking(waiting(30, DueAction::Submit).create()), 30), (waiting(5, DueAction::Ask).create(), 60)]
        {
            holder.commit(made).await.expect("committed");
            let claimed = claim(&holder, 10, until, 1).await;
            assert!(claim(&ahead, until + skew - 1, until + skew, 1).await.is_empty(), "its holder lives");
            if claimed.is_empty() {
                assert_eq!(claim(&holder, until, until + 1, 1).await.len(), 1, "its holder may do it again");
            }
            assert_eq!(claim(&ahead, until + 1 + skew, 1_000_000, 1).await.len(), 1);
        }
    });
}

async fn what_a_silent_node_took_is_given_to_others(fixture: Fixture) {
    let (silent, alive) = (fixture.any().await, fixture.any().await);
    silent.beat().await.expect("it lived");
    silent.commit(taking(waiting(30, DueAction::Submit).create())).await.expect("committed");
    alive.beat().await.expect("beaten");
    alive.release_dead().await.expect("looked for");
    assert!(claim(&alive, 20, 1_000, 1).await.is_empty(), "it was heard of just now");
    fixture.sql("UPDATE nodes SET beat_at = beat_at - 8000").await.expect("eight seconds pass");
    alive.beat().await.expect("beaten");
    alive.release_dead().await.expect("looked for");
    heard_of(&alive, 10).await;
    assert_eq!(claim(&alive, 20, 1_000, 1).await.len(), 1);
}
