//! A worker's claim that staff, a merchant or the rail itself overtook.

use std::sync::{Arc, OnceLock};

use quipu_commit::Commit as _;
use quipu_kernel::{Page, PaymentId};

use super::{
    settle::{arrived, attend, issuing, settle, withdrawal_on},
    world::{START, World, deposit, ready},
};
use crate::{
    CrossTenantReads as _, DueAction, Failure, ParkReason, RailStatus, ReceiptFilter, Status, Submission,
    TransitionContext, Trigger,
};

#[test]
fn what_staff_handed_over_by_hand_is_not_submitted_once_more() {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().never();
    let (world, id) = withdrawal_on(rail);
    let claim = world.store.claim(&id).expect("due");
    let by_hand =
        world.store.payment(&id).apply(Trigger::Submit, TransitionContext::new(START, &*world.entropy));
    ready(world.store.commit(by_hand.expect("a move").changes)).expect("committed");
    assert_eq!(world.store.due(&id), None);
    ready(settle(&world).attend(&claim)).expect("a claim that is overtaken is a success");
    assert_eq!((world.store.payment(&id).status(), world.store.due(&id)), (Status::Processing, None));
}

#[test]
fn what_staff_ended_by_hand_is_not_asked_about_any_more() {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().times(1).returning(|_| Submission::Accepted { provider_reference: None });
    rail.expect_ask().never();
    let (world, id) = withdrawal_on(rail);
    attend(&world, &id);
    let claim = world.store.claim(&id).expect("a question");
    assert_eq!(claim.action, DueAction::Ask.as_str());
    let by_hand =
        world.store.payment(&id).apply(Trigger::Fail, TransitionContext::new(START, &*world.entropy));
    ready(world.store.commit(by_hand.expect("a move").changes)).expect("committed");
    ready(settle(&world).attend(&claim)).expect("a claim that is overtaken is a success");
    assert_eq!((world.store.payment(&id).status(), world.store.due(&id)), (Status::Failed, None));
}

/// A withdrawal whose first submission had no certain outcome, and whose rail says that it never heard of it,
/// after staff decided so about it.
fn not_found(submissions: usize, meanwhile: Option<Trigger>) -> (World, PaymentId) {
    let decides = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().times(submissions).returning(|_| Submission::Unknown);
    let at_question = Arc::clone(&decides);
    rail.expect_ask().times(1).returning(move |_| {
        at_question.get().expect("staff")();
        RailStatus::NotFound
    });
    let (world, id) = withdrawal_on(rail);
    let (store, entropy, subject) = (Arc::clone(&world.store), Arc::clone(&world.entropy), id.clone());
    let decide = move || {
        let how = TransitionContext::new(START, &*entropy);
        if let Some(trigger) = meanwhile {
            store.intrude(store.payment(&subject).apply(trigger, how).expect("a move").changes);
        }
    };
    assert!(decides.set(Box::new(decide)).is_ok(), "set once");
    assert_eq!(attend(&world, &id).status(), Status::Processing);
    attend(&world, &id);
    (world, id)
}

#[test]
fn a_withdrawal_that_its_rail_does_not_find_is_submitted_again() {
    let (world, id) = not_found(2, None);
    assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Submit));
    assert_eq!(attend(&world, &id).state().version, 2, "no second step, only a second call");
    assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Ask));
}

#[test]
fn what_staff_ended_while_the_rail_was_asked_is_not_submitted_again() {
    for (trigger, ended) in [(Trigger::Fail, Status::Failed), (Trigger::Confirm, Status::Completed)] {
        let (world, id) = not_found(1, Some(trigger));
        assert_eq!((attend(&world, &id).status(), world.store.due(&id)), (ended, None));
    }
}

#[test]
fn a_rejection_of_what_was_reported_as_paid_meanwhile_waits_for_a_person() {
    let reports = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = issuing(DueAction::Submit);
    let meanwhile = Arc::clone(&reports);
    rail.expect_submit().times(1).returning(move |_| {
        meanwhile.get().expect("a report")();
        Submission::Rejected(Failure { code: "NO_ACCOUNT".to_owned(), message: String::new() })
    });
    let (world, id) = withdrawal_on(rail);
    let (store, entropy, paid) = (Arc::clone(&world.store), Arc::clone(&world.entropy), id.clone());
    let report = move || {
        let how = TransitionContext::new(START, &*entropy);
        store.intrude(store.payment(&paid).apply(Trigger::Confirm, how).expect("a move").changes);
    };
    assert!(reports.set(Box::new(report)).is_ok(), "set once");
    assert_eq!(attend(&world, &id).status(), Status::Completed);
    let (parked, total) =
        ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read");
    assert_eq!((total, parked[0].reason), (1, ParkReason::Contradiction));
    assert_eq!(world.store.due(&id), None);
}

#[test]
fn a_cancelled_withdrawal_is_not_submitted() {
    let (world, id) = withdrawal_on(issuing(DueAction::Submit));
    let how = TransitionContext::new(START, &*world.entropy);
    let claim = world.store.claim(&id).expect("due");
    world.store.intrude(world.store.payment(&id).apply(Trigger::Cancel, how).expect("a move").changes);
    ready(settle(&world).attend(&claim)).expect("overtaken");
    assert_eq!(world.store.payment(&id).status(), Status::Cancelled);
}

#[test]
fn money_that_arrived_is_not_forgotten_because_an_expiry_came_first() {
    let mut rail = issuing(DueAction::Ask);
    rail.expect_ask().returning(|_| arrived(100_000));
    let world = World::with_rail(rail);
    let claimed = world.created(&deposit());
    let id = claimed.id().clone();
    let how = TransitionContext::new(START, &*world.entropy);
    world.store.intrude(claimed.apply(Trigger::Expire, how).expect("a move").changes);
    let completed = attend(&world, &id);
    assert_eq!((completed.status(), completed.state().late), (Status::Completed, true));
    assert_eq!(completed.state().version, 3);
}
