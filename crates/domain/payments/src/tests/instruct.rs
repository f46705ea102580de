//! Rails that are asked for instructions after the commit, and what happens while they answer.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use quipu_kernel::{Page, StoreError};
use serde_json::json;

use super::{
    settle::{attend, issuing},
    world::{MockBank, START, World, bank_asked_after, creation, deposit, ready},
};
use crate::{
    Capacity, CreateError, CrossTenantReads as _, DueAction, Failure, Happening, Instructed, Instructions,
    IssuedInstructions, ParkReason, Payment, RailEventKind, RailStatus, ReceiptFilter, Reservation, Reserved,
    Status, Submission, Trigger,
};

/// A rail that has to be asked after the commit.
fn remote() -> MockBank {
    let mut rail = bank_asked_after(&[]);
    rail.expect_issue()
        .returning(|_, _| IssuedInstructions { must_be_requested: true, ..IssuedInstructions::default() });
    rail
}

/// Room for a call, which counts how often it was used and how often it was dropped.
#[derive(Clone, Default)]
struct Room {
    used: Arc<AtomicU32>,
    dropped: Arc<AtomicU32>,
}

impl Room {
    fn counts(&self) -> (u32, u32) {
        (self.used.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

struct Kept(Room);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait::async_trait]
impl Reserved for Kept {
    async fn instruct(self: Box<Self>, _: &Payment) -> Instructed {
        self.0.used.fetch_add(1, Ordering::Relaxed);
        Instructed::Given(Box::default())
    }

    async fn submit(self: Box<Self>, _: &Payment) -> Submission {
        unreachable!("no withdrawal waits for instructions")
    }
}

#[test]
fn room_for_the_call_is_kept_before_the_commit_and_given_back_if_that_is_refused() {
    let (mut rail, room) = (remote(), Room::default());
    let kept = room.clone();
    rail.expect_reserve()
        .returning(move |_| Capacity::Reserved(Reservation::Kept(Box::new(Kept(kept.clone())))));
    rail.expect_instruct().never();
    let world = World::with_rail(rail);
    world.created(&deposit());
    assert_eq!(room.counts(), (1, 1));
    let refused = ready(world.create.run(creation(&deposit())));
    assert!(matches!(refused, Err(CreateError::DuplicateReference { .. })), "{refused:?}");
    assert_eq!(room.counts(), (1, 2));
}

#[test]
fn a_deposit_without_room_for_its_call_is_refused_before_any_commit() {
    let mut rail = remote();
    rail.expect_reserve().times(1).returning(|_| Capacity::Busy);
    rail.expect_reserve().times(1).returning(|_| Capacity::CircuitOpen);
    rail.expect_instruct().never();
    let world = World::with_rail(rail);
    for _ in 0..2 {
        let refused = ready(world.create.run(creation(&deposit())));
        assert!(matches!(refused, Err(CreateError::Store(StoreError::Overloaded))), "{refused:?}");
        assert!(world.store.rows().commits.is_empty());
    }
}

/// A creation that its rail refuses after the payment took another way: how it was answered, and what waits
/// for a person.
fn refused_after(meanwhile: Trigger) -> (Status, Vec<(RailEventKind, ParkReason)>) {
    let moves = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = remote();
    rail.expect_reserve().returning(|_| Capacity::Reserved(Reservation::Unneeded));
    let at_call = Arc::clone(&moves);
    rail.expect_instruct().times(1).returning(move |_| {
        at_call.get().expect("a move")();
        Instructed::Rejected(Failure { code: "RAIL_REJECTED".to_owned(), message: String::new() })
    });
    let world = World::with_rail(rail);
    let (store, entropy) = (Arc::clone(&world.store), Arc::clone(&world.entropy));
    let moving = move || {
        let payment = store.rows().payments.values().next().expect("committed").clone();
        let changed = payment.apply(meanwhile, Happening::new(START, &*entropy)).expect("a move");
        store.intrude(changed.changes);
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

#[test]
fn a_deposit_whose_call_had_no_certain_outcome_is_given_its_instructions_later() {
    let given = || {
        let details = json!({ "voucher_details": { "reference": "7", "barcode": "7", "expires_at": null } });
        serde_json::from_value::<Instructions>(details).expect("instructions")
    };
    for answer in [RailStatus::Pending, RailStatus::NotFound] {
        let mut rail = issuing(DueAction::Ask);
        rail.expect_ask().times(3).returning(move |_| answer.clone());
        rail.expect_instruct().times(1).returning(|_| Instructed::Unknown);
        rail.expect_instruct().times(1).returning(move |_| Instructed::Given(Box::new(given())));
        let world = World::with_rail(rail);
        let id = world.created(&deposit()).id().clone();
        assert!(attend(&world, &id).awaits_instructions());
        assert_eq!(attend(&world, &id).state().instructions, given());
        assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Ask));
        // It is only asked about from now on: another call would be one too many.
        assert_eq!(attend(&world, &id).status(), Status::Processing);
    }
}

#[test]
fn a_deposit_whose_call_had_no_certain_outcome_fails_if_the_rail_refuses_it_later() {
    let mut rail = issuing(DueAction::Ask);
    rail.expect_ask().returning(|_| RailStatus::NotFound);
    rail.expect_instruct().times(1).returning(|_| {
        Instructed::Rejected(Failure { code: "RAIL_REJECTED".to_owned(), message: String::new() })
    });
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    let failed = attend(&world, &id);
    let code = failed.state().failure.as_ref().map(|failure| failure.code.as_str());
    assert_eq!((failed.status(), code), (Status::Failed, Some("RAIL_REJECTED")));
}
