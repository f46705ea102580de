//! Movements of money that a bank's statement tells of.

use std::{
    pin::pin,
    sync::{Arc, Mutex, atomic::Ordering},
    task::{Context, Waker},
};

use quipu_kernel::{Page, PaymentId};

use super::world::{World, amount, deposit, ready};
use crate::{
    Attention, CrossTenantReads as _, Failure, FailureCode, ParkReason, ProcessRailEvent, RailEvent,
    RailEventError, RailEventKind, RailEventOutcome, Receipt, ReceiptFilter, Status, Trigger,
};

/// The receipts of which a person was told, and the payments of which a message was lost.
#[derive(Default)]
struct Called(Mutex<Vec<Receipt>>, Mutex<Vec<PaymentId>>);

impl Attention for Called {
    fn parked(&self, receipt: &Receipt) {
        self.0.lock().expect("nobody panicked").push(receipt.clone());
    }

    fn lost(&self, _: &str, payment: &PaymentId, _: &RailEventError) {
        self.1.lock().expect("nobody panicked").push(payment.clone());
    }
}

fn rail_events(world: &World) -> ProcessRailEvent {
    let (store, clock, entropy) = (world.store.clone(), world.clock.clone(), world.entropy.clone());
    ProcessRailEvent::new(store.clone(), store, clock, entropy)
}

/// The payment's whole amount, under this name.
fn event(world: &World, id: &PaymentId, kind: RailEventKind, name: &str) -> RailEvent {
    let payment = world.store.payment(id);
    RailEvent {
        id: name.to_owned(),
        kind,
        rail_reference: id.as_str().to_owned(),
        amount: Some(payment.terms().amount),
        currency: Some(payment.terms().currency),
        occurred_at: None,
        provider_reference: None,
        code: None,
        message: None,
    }
}

fn moves(world: &World, id: &PaymentId, kind: RailEventKind, name: &str) -> RailEventOutcome {
    let rail = world.store.payment(id).terms().rail.clone();
    ready(rail_events(world).run_statement_entry(&rail, &event(world, id, kind, name))).expect("processed")
}

#[test]
fn money_that_comes_twice_is_parked_and_what_is_told_twice_is_not() {
    use RailEventKind::Completed;
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    assert_eq!(moves(&world, &id, Completed, "first"), RailEventOutcome::Applied);
    assert_eq!(moves(&world, &id, Completed, "first"), RailEventOutcome::Known);
    assert_eq!(moves(&world, &id, Completed, "second"), RailEventOutcome::Parked(ParkReason::Contradiction));
    assert_eq!(moves(&world, &id, Completed, "second"), RailEventOutcome::Known);
    assert_eq!(moves(&world, &id, Completed, "third"), RailEventOutcome::Parked(ParkReason::Contradiction));
    assert_eq!(world.store.payment(&id).status(), Status::Completed);
    let rail = world.store.payment(&id).terms().rail.clone();
    let callback = event(&world, &id, Completed, "callback");
    assert_eq!(
        ready(rail_events(&world).run(&rail, &callback)).expect("processed"),
        RailEventOutcome::Known,
        "word is no money"
    );
}

#[test]
fn a_person_is_called_once_for_what_is_parked() {
    let (world, called) = (World::new(), Arc::new(Called::default()));
    let id = world.created(&deposit()).id().clone();
    let rail = world.store.payment(&id).terms().rail.clone();
    let rail_events = rail_events(&world).with_attention(called.clone());
    let failure = event(&world, &id, RailEventKind::Failed, "failed");
    assert_eq!(ready(rail_events.run(&rail, &failure)).expect("processed"), RailEventOutcome::Applied);
    for _ in 0..2 {
        ready(rail_events.run(&rail, &event(&world, &id, RailEventKind::Completed, "money")))
            .expect("processed");
    }
    let told = called.0.lock().expect("nobody panicked");
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].reason, told[0].payment_id.as_ref()), (ParkReason::Contradiction, Some(&id)));
}

#[test]
fn a_person_is_told_of_a_refusal_that_could_not_be_parked() {
    let (world, called) = (World::new(), Arc::new(Called::default()));
    let id = world.created(&deposit()).id().clone();
    let paid = world.moved(&id, Trigger::Confirm);
    let rail_events = rail_events(&world).with_attention(called.clone());
    let failure = Failure::new(FailureCode::RailRejected, "");
    let numbers = || {
        let (parked, lost) = (called.0.lock(), called.1.lock());
        (parked.expect("nobody panicked").len(), lost.expect("nobody panicked").clone())
    };
    world.store.fails.store(true, Ordering::Relaxed);
    ready(rail_events.run_refusal("simulator", &paid, &failure));
    assert_eq!(numbers(), (0, vec![id.clone()]));
    world.store.fails.store(false, Ordering::Relaxed);
    ready(rail_events.run_refusal("simulator", &paid, &failure));
    assert_eq!(numbers(), (1, vec![id]));
}

#[test]
fn a_person_is_told_by_which_receipt_to_find_what_names_no_payment() {
    let (world, called) = (World::new(), Arc::new(Called::default()));
    let id = world.created(&deposit()).id().clone();
    let rent = RailEvent {
        rail_reference: "credit: rent".to_owned(),
        ..event(&world, &id, RailEventKind::Completed, "rent")
    };
    ready(rail_events(&world).with_attention(called.clone()).run_statement_entry("manual", &rent))
        .expect("processed");
    let (parked, _) = ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read");
    assert_eq!(parked.len(), 1);
    let told = called.0.lock().expect("nobody panicked");
    assert_eq!((told[0].receipt_id.as_str(), &told[0].payment_id), (parked[0].receipt_id.as_str(), &None));
}

#[test]
fn the_movement_that_a_person_confirmed_before_is_known_and_the_next_is_parked() {
    use RailEventKind::Completed;
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    world.moved(&id, Trigger::Confirm);
    assert_eq!(moves(&world, &id, Completed, "first"), RailEventOutcome::Known);
    assert_eq!(moves(&world, &id, Completed, "second"), RailEventOutcome::Parked(ParkReason::Contradiction));
}

/// Two entries of a statement that are read before either of them is stored.
fn at_once(world: &World, [one, other]: [&RailEvent; 2]) -> [RailEventOutcome; 2] {
    let rail_events = rail_events(world);
    world.store.holds.store(true, Ordering::Relaxed);
    let mut first = pin!(rail_events.run_statement_entry("simulator", one));
    let mut second = pin!(rail_events.run_statement_entry("simulator", other));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    world.store.holds.store(false, Ordering::Relaxed);
    [ready(first).expect("processed"), ready(second).expect("processed")]
}

#[test]
fn of_two_movements_at_once_one_is_what_a_person_confirmed_and_the_other_is_parked() {
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    world.moved(&id, Trigger::Confirm);
    let [one, other] = ["one", "other"].map(|name| event(&world, &id, RailEventKind::Completed, name));
    let contradiction = RailEventOutcome::Parked(ParkReason::Contradiction);
    assert_eq!(at_once(&world, [&one, &other]), [RailEventOutcome::Known, contradiction]);
    assert_eq!(
        moves(&world, &id, RailEventKind::Completed, "one"),
        RailEventOutcome::Known,
        "a file that is imported again"
    );
}

#[test]
fn of_two_movements_at_once_the_second_is_parked_even_beside_one_that_is_parked() {
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    world.moved(&id, Trigger::Confirm);
    let whole = event(&world, &id, RailEventKind::Completed, "whole");
    let short = RailEvent { id: "short".to_owned(), amount: Some(amount(1)), ..whole.clone() };
    let parked = [ParkReason::AmountMismatch, ParkReason::Contradiction].map(RailEventOutcome::Parked);
    assert_eq!(at_once(&world, [&short, &whole]), parked);
}
