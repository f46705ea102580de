//! Rails that are asked for instructions after the commit, and what happens while they answer.

use std::sync::{Arc, OnceLock};

use quipu_kernel::Page;

use super::world::{START, World, bank_asked_after, creation, deposit, ready};
use crate::{
    Failure, Happening, Instructed, IssuedInstructions, MoneyReads as _, ParkReason, RailEventKind,
    ReceiptFilter, Status, Trigger,
};

/// A creation that its rail refuses after the payment took another way: how it was answered, and what waits for a person.
fn refused_after(meanwhile: Trigger) -> (Status, Vec<(RailEventKind, ParkReason)>) {
    let moves = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = bank_asked_after(&[]);
    rail.expect_issue()
        .returning(|_, _| IssuedInstructions { remote: true, ..IssuedInstructions::default() });
    let at_call = Arc::clone(&moves);
    rail.expect_instruct().times(1).returning(move |_| {
        at_call.get().expect("a move")();
        Instructed::Rejected(Failure { code: "RAIL_REJECTED".to_owned(), message: String::new() })
    });
    let world = World::with_rail(rail);
    let (store, entropy) = (Arc::clone(&world.store), Arc::clone(&world.entropy));
    let moving = move || {
        let payment = store.rows().payments.values().next().expect("committed").clone();
        store.intrude(payment.apply(meanwhile, Happening::new(START, &*entropy)).expect("a move"));
    };
    assert!(moves.set(Box::new(moving)).is_ok(), "set once");
    let answered = ready(world.create.run(creation(&deposit()))).expect("the payment stands");
    let (parked, _) = ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read");
    (answered.status(), parked.iter().map(|receipt| (receipt.kind, receipt.reason)).collect())
}

#[test]
fn a_refusal_of_what_was_reported_as_paid_meanwhile_waits_for_a_person() {
    let contradiction = (RailEventKind::Failed, ParkReason::Contradiction);
    assert_eq!(refused_after(Trigger::Confirm), (Status::Completed, vec![contradiction]));
}

#[test]
fn a_refusal_of_what_has_failed_meanwhile_agrees() {
    assert_eq!(refused_after(Trigger::Fail), (Status::Failed, Vec::new()));
    assert_eq!(refused_after(Trigger::Expire), (Status::Expired, Vec::new()));
}
