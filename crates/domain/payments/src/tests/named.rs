//! The rail's own identifier of a payment.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use quipu_kernel::Currency;

use super::{
    settle::{attend, issuing, withdrawal_on},
    world::{START, World, amount, deposit, ready},
};
use crate::{
    Arrival, CrossTenantReads as _, DueAction, ParkReason, Payment, ProcessRailEvent, RailEvent,
    RailEventKind, RailEventOutcome, RailStatus, Status, Submission, TransitionContext, Trigger,
    operator_record,
};

fn accepted(name: Option<&str>) -> Submission {
    Submission::Accepted { provider_reference: name.map(str::to_owned) }
}

fn arrived(units: i64, name: &str) -> RailStatus {
    let provider_reference = Some(name.to_owned());
    RailStatus::Completed(Arrival { amount: amount(units), currency: Currency::MXN, provider_reference })
}

#[test]
fn a_withdrawal_is_named_after_its_order_and_then_after_the_money_that_moved() {
    for first in [Some("A-1"), None] {
        let mut rail = issuing(DueAction::Submit);
        rail.expect_submit().times(1).returning(move |_| accepted(first));
        rail.expect_ask().times(1).returning(|_| arrived(50_000, "B-2"));
        let (world, id) = withdrawal_on(rail);
        let submitted = attend(&world, &id);
        assert_eq!((submitted.status(), submitted.state().version), (Status::Processing, 2));
        assert_eq!(submitted.state().provider_reference.as_deref(), first);
        assert_eq!(world.store.rows().commits[2].saves, first.is_some(), "only a name is a reason to write");
        assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Ask));
        let completed = attend(&world, &id);
        assert_eq!(completed.status(), Status::Completed);
        assert_eq!(operator_record(&completed)["provider_reference"], "B-2");
    }
}

#[test]
fn the_name_of_a_withdrawal_that_moved_while_its_rail_was_called_is_kept_all_the_same() {
    let moves = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = issuing(DueAction::Submit);
    let at_call = Arc::clone(&moves);
    rail.expect_submit().times(1).returning(move |_| {
        at_call.get().expect("a move")();
        accepted(Some("A-1"))
    });
    let (world, id) = withdrawal_on(rail);
    let (store, entropy, subject) = (Arc::clone(&world.store), Arc::clone(&world.entropy), id.clone());
    let confirm = move || {
        let how = TransitionContext::new(START, &*entropy);
        store.intrude(store.payment(&subject).apply(Trigger::Confirm, how).expect("a move").changes);
    };
    assert!(moves.set(Box::new(confirm)).is_ok(), "set once");
    let completed = attend(&world, &id);
    assert_eq!((completed.status(), world.store.due(&id)), (Status::Completed, None));
    assert_eq!(completed.state().provider_reference.as_deref(), Some("A-1"));
}

/// A callback: the payment is completed, under this name of the provider's.
fn completed(payment: &Payment, name: &str) -> RailEvent {
    RailEvent {
        id: "evt-1".to_owned(),
        kind: RailEventKind::Completed,
        rail_reference: payment.id().as_str().to_owned(),
        amount: Some(payment.terms().amount),
        currency: Some(payment.terms().currency),
        occurred_at: None,
        code: None,
        message: None,
        provider_reference: Some(name.to_owned()),
    }
}

fn hearing(world: &World) -> ProcessRailEvent {
    let (store, clock, entropy) = (world.store.clone(), world.clock.clone(), world.entropy.clone());
    ProcessRailEvent::new(store.clone(), store, clock, entropy)
}

#[test]
fn the_first_callback_names_a_payment_that_staff_completed_and_another_name_is_other_money() {
    let world = World::new();
    let payment = world.created(&deposit());
    world.moved(payment.id(), Trigger::Confirm);
    let hear = hearing(&world);
    let heard = |event: &RailEvent| ready(hear.run(&payment.terms().rail, event)).expect("heard");
    assert_eq!(heard(&completed(&payment, "C-3")), RailEventOutcome::Known);
    assert_eq!(world.store.payment(payment.id()).state().provider_reference.as_deref(), Some("C-3"));
    let again = RailEvent { id: "evt-2".to_owned(), ..completed(&payment, "C-4") };
    assert_eq!(heard(&again), RailEventOutcome::Parked(ParkReason::Contradiction));
}

#[test]
fn a_failure_that_changes_nothing_names_nothing() {
    let world = World::new();
    let payment = world.created(&deposit());
    world.moved(payment.id(), Trigger::Expire);
    let hear = hearing(&world);
    let heard = |event: &RailEvent| ready(hear.run(&payment.terms().rail, event)).expect("heard");
    let failed =
        RailEvent { id: "evt-0".to_owned(), kind: RailEventKind::Failed, ..completed(&payment, "A-1") };
    assert_eq!(heard(&failed), RailEventOutcome::Known);
    assert_eq!(world.store.payment(payment.id()).state().provider_reference, None);
}

#[test]
fn a_callback_may_name_a_deposit() {
    let world = World::new();
    let payment = world.created(&deposit());
    let event = completed(&payment, "C-3");
    let hear = hearing(&world);
    let heard = |event: &RailEvent| ready(hear.run(&payment.terms().rail, event)).expect("heard");
    assert_eq!(heard(&event), RailEventOutcome::Applied);
    let completed = world.store.payment(payment.id());
    assert_eq!(completed.state().provider_reference.as_deref(), Some("C-3"));
    // The same in other words, and another payment of the provider to the same reference.
    for (id, reference, outcome) in [
        ("evt-2", Some("C-3"), RailEventOutcome::Known),
        ("evt-3", None, RailEventOutcome::Known),
        ("evt-4", Some("C-4"), RailEventOutcome::Parked(ParkReason::Contradiction)),
    ] {
        let provider_reference = reference.map(str::to_owned);
        let event = RailEvent { id: id.to_owned(), provider_reference, ..event.clone() };
        assert_eq!(heard(&event), outcome, "{id}");
    }
}

/// A withdrawal that its rail knows as `A-1`, and what hears of it.
fn ordered() -> (World, Payment, ProcessRailEvent) {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().times(1).returning(|_| accepted(Some("A-1")));
    let (world, id) = withdrawal_on(rail);
    let payment = attend(&world, &id);
    let hear = hearing(&world);
    (world, payment, hear)
}

/// An event under a name, and what comes of it.
type Told = (RailEventKind, &'static str, RailEventOutcome);

#[test]
fn of_two_orders_for_a_withdrawal_the_money_that_moved_counts_and_the_other_is_for_staff() {
    use RailEventKind::{Completed, Failed, Returned};
    use RailEventOutcome::{Applied, Known, Parked};
    let other = Parked(ParkReason::Contradiction);
    let (own, twin) = ("A-1", "B-2");
    let cases: [(&[Told], Status, &str); 6] = [
        (&[(Completed, twin, Applied), (Completed, own, other)], Status::Completed, twin),
        (
            &[(Completed, own, Applied), (Completed, twin, other), (Returned, twin, other)],
            Status::Completed,
            own,
        ),
        (&[(Returned, twin, other), (Completed, own, Applied)], Status::Completed, own),
        (&[(Failed, twin, other), (Completed, own, Applied)], Status::Completed, own),
        (&[(Failed, twin, other), (Failed, own, Applied), (Failed, twin, Known)], Status::Failed, own),
        (&[(Completed, own, Applied), (Returned, own, Applied)], Status::Refunded, own),
    ];
    for (told, status, name) in cases {
        let (world, payment, hear) = ordered();
        for (place, (kind, name, outcome)) in told.iter().enumerate() {
            let event = RailEvent { id: format!("evt-{place}"), kind: *kind, ..completed(&payment, name) };
            let heard = ready(hear.run(&payment.terms().rail, &event)).expect("heard");
            assert_eq!(heard, *outcome, "{place} of {told:?}");
        }
        let now = world.store.payment(payment.id());
        assert_eq!(
            (now.status(), now.state().provider_reference.as_deref()),
            (status, Some(name)),
            "{told:?}"
        );
        let receipts = ready(world.store.timeline(&now)).expect("read").receipts;
        let are_named = receipts.iter().all(|receipt| receipt.provider_reference.is_some());
        assert!(are_named, "staff ask the provider by its name: {receipts:?}");
    }
}

#[test]
fn an_order_that_is_sent_again_is_known_by_its_latest_name() {
    let mut rail = issuing(DueAction::Submit);
    let names = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&names);
    rail.expect_submit().times(2).returning(move |_| {
        let count = counted.fetch_add(1, Ordering::Relaxed);
        accepted(Some(["A-1", "B-2"][count]))
    });
    rail.expect_ask().times(1).returning(|_| RailStatus::NotFound);
    let (world, id) = withdrawal_on(rail);
    let known = [(); 3].map(|()| attend(&world, &id).state().provider_reference.clone());
    assert_eq!(known.map(Option::unwrap_or_default), ["A-1", "A-1", "B-2"]);
}
