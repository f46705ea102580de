//! Work handed out under a lease.

use std::{collections::BTreeSet, time::Duration};

use futures_util::{FutureExt as _, future::join_all};
use quipu_payments::{Commit as _, DueAction, DueQueue as _, PaymentReads as _, Status};

use crate::{
    fixture::{Fixture, funded, on_both_databases},
    sample::{START, Sample, after, due, move_to, tenant},
};

on_both_databases! {
    what_is_due_is_claimed_with_its_action_the_longest_waiting_first,
    what_is_claimed_is_nobody_elses_until_the_lease_ends,
    a_commit_sets_what_is_due_anew,
    overdue_payouts_are_counted_until_they_are_claimed,
    two_nodes_never_claim_the_same,
    a_payment_that_cannot_be_read_holds_up_no_other,
    a_commit_that_makes_work_is_heard_of,
}

fn waiting(at: i64, action: DueAction) -> Sample {
    Sample { due: Some(due(after(at), action)), ..Sample::deposit(tenant(1), 5) }
}

async fn what_is_due_is_claimed_with_its_action_the_longest_waiting_first(fixture: Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.next_due().await.expect("asked"), None);
    for (at, action) in [(30, DueAction::Ask), (10, DueAction::Submit), (20, DueAction::Expire)] {
        store.commit(waiting(at, action).create()).await.expect("committed");
    }
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("nothing due");
    assert_eq!(store.next_due().await.expect("asked"), Some(after(10)));
    assert!(store.claim(after(9), after(100), 10).await.expect("claimed").is_empty());
    let claimed = store.claim(after(20), after(100), 10).await.expect("claimed");
    let found: Vec<_> = claimed.iter().map(|payment| payment.state().due).collect();
    assert_eq!(found, [Some(due(after(10), DueAction::Submit)), Some(due(after(20), DueAction::Expire))]);
    assert_eq!(store.next_due().await.expect("asked"), Some(after(30)));
    assert_eq!(store.claim(after(50), after(100), 1).await.expect("claimed").len(), 1);
}

async fn what_is_claimed_is_nobody_elses_until_the_lease_ends(fixture: Fixture) {
    let store = fixture.open().await;
    store.commit(waiting(10, DueAction::Ask).create()).await.expect("committed");
    assert_eq!(store.claim(after(10), after(60), 10).await.expect("claimed").len(), 1);
    assert_eq!(store.claim(after(59), after(90), 10).await.expect("claimed").len(), 0);
    let again = store.claim(after(60), after(90), 10).await.expect("claimed");
    assert_eq!(again[0].state().due.map(|due| due.action), Some(DueAction::Ask));
}

async fn a_commit_sets_what_is_due_anew(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let sample = Sample { due: Some(due(after(1), DueAction::Submit)), ..Sample::withdrawal(tenant(1), 10) };
    store.commit(sample.create()).await.expect("committed");
    let claimed = store.claim(after(1), after(60), 10).await.expect("claimed").remove(0);
    store
        .commit(move_to(&claimed, Status::Processing, after(2)))
        .await
        .expect("the claimed one stands as it stood");
    assert_eq!(store.next_due().await.expect("asked"), None);
    let read = store.payment(tenant(1), claimed.id()).await.expect("read").expect("a payment");
    assert_eq!(read.state().due, None);
}

async fn overdue_payouts_are_counted_until_they_are_claimed(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    for at in [30, 10, 20] {
        let due = Some(due(after(at), DueAction::Submit));
        store.commit(Sample { due, ..Sample::withdrawal(tenant(1), 10) }.create()).await.expect("committed");
    }
    store.commit(waiting(5, DueAction::Ask).create()).await.expect("a deposit is no payout");
    let overdue = async |at| store.overdue_payouts(after(at)).await.expect("counted");
    assert_eq!(overdue(9).await, (0, None));
    assert_eq!(overdue(25).await, (2, Some(after(10))));
    store.claim(after(25), after(100), 10).await.expect("claimed");
    assert_eq!(overdue(25).await, (0, None));
    assert_eq!(overdue(99).await, (1, Some(after(30))));
}

async fn two_nodes_never_claim_the_same(fixture: Fixture) {
    let (one, other) = (fixture.open().await, fixture.open().await);
    join_all((0..100).map(|at| one.commit(waiting(at, DueAction::Ask).create()))).await;
    let claims = (0..20).map(|number| {
        let store = if number % 2 == 0 { &one } else { &other };
        store.claim(after(1_000), after(60_000), 10)
    });
    let mut seen = BTreeSet::new();
    for claimed in join_all(claims).await {
        for payment in claimed.expect("claimed") {
            assert!(seen.insert(payment.id().clone()), "claimed twice");
        }
    }
    while let rest @ [_, ..] = one.claim(after(1_000), after(60_000), 50).await.expect("claimed").as_slice() {
        for payment in rest {
            assert!(seen.insert(payment.id().clone()), "claimed twice");
        }
    }
    assert_eq!(seen.len(), 100);
}

async fn a_payment_that_cannot_be_read_holds_up_no_other(fixture: Fixture) {
    let store = fixture.open().await;
    store.commit(waiting(1, DueAction::Ask).create()).await.expect("committed");
    fixture.sql("UPDATE payments SET document = '[]'").await.expect("spoilt");
    let sound = waiting(2, DueAction::Ask);
    store.commit(sound.create()).await.expect("committed");
    let claimed = store.claim(after(2), after(60), 10).await.expect("claimed");
    assert_eq!(claimed.iter().map(|payment| payment.state().due).collect::<Vec<_>>(), [sound.due]);
    assert!(store.claim(after(59), after(90), 10).await.expect("claimed").is_empty());
    assert!(store.claim(after(60), after(90), 1).await.expect("claimed").is_empty());
    assert_eq!(store.claim(after(60), after(90), 1).await.expect("claimed").len(), 1);
}

async fn a_commit_that_makes_work_is_heard_of(fixture: Fixture) {
    let store = fixture.open().await;
    assert!(store.changed().now_or_never().is_none());
    let mut plain = Sample::deposit(tenant(1), 5);
    plain.at = START;
    store.commit(plain.create()).await.expect("committed");
    store.commit(waiting(5, DueAction::Ask).create()).await.expect("committed");
    tokio::time::timeout(Duration::from_mins(1), store.changed()).await.expect("heard of");
}
