//! Rails that are asked for instructions after the commit, and what happens while they answer.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use quipu_commit::{Answer, IdempotencyRecord, KeptAnswer, Queue};
use quipu_kernel::{Page, PaymentId, StoreError};
use serde_json::json;

use super::{
    keyed_creation::ask,
    settle::{attend, issuing, later},
    world::{MockBank, START, World, bank_asked_after, creation, deposit, ready, with},
};
use crate::{
    Capacity, CreateError, CrossTenantReads as _, Due, DueAction, Failure, FailureCode, Instructed,
    Instructions, IssuedInstructions, ParkReason, Payment, RailEventKind, RailStatus, ReceiptFilter,
    Reservation, Reserved, Status, Submission, TransitionContext, Trigger,
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
    let refused = || ready(world.create.run(creation(&deposit()))).expect_err("no room");
    assert!(matches!(refused(), CreateError::Store(StoreError::Overloaded)));
    assert!(matches!(refused(), CreateError::ProviderSilent));
    assert!(world.store.rows().commits.is_empty());
}

/// A creation that its rail refuses after the payment took another way: how the payment stands, and what waits
/// for a person. A creation with a key is also repeated before, and the repeat brings its answer.
fn refused_after(meanwhile: Trigger, key: Option<&str>) -> (Status, Vec<(RailEventKind, ParkReason)>) {
    let moves = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut rail = remote();
    rail.expect_reserve().returning(|_| Capacity::Reserved(Reservation::Unneeded));
    let at_call = Arc::clone(&moves);
    rail.expect_instruct().times(1).returning(move |_| {
        at_call.get().expect("a move")();
        Instructed::Rejected(Failure::new(FailureCode::RailRejected, ""))
    });
    let world = World::with_rail(rail);
    let (store, entropy) = (Arc::clone(&world.store), Arc::clone(&world.entropy));
    let moving = move || {
        let payment = store.rows().payments.values().next().expect("committed").clone();
        let after = payment.apply(meanwhile, TransitionContext::new(START, &*entropy)).expect("a move");
        let mut changes = after.changes;
        let brought = KeptAnswer::Brought(Answer::success("as it stands".to_owned()));
        let first = store.rows().commits[0].idempotency.clone();
        changes.idempotency = first.map(|record| IdempotencyRecord { answer: brought, ..record });
        store.intrude(changes);
    };
    assert!(moves.set(Box::new(moving)).is_ok(), "set once");
    if let Some(key) = key {
        let answered = ask(&world, key, &deposit(), None).expect("the payment stands");
        assert_eq!(answered.answer.body, "as it stands");
    } else {
        ready(world.create.run(creation(&deposit()))).expect("the payment stands");
    }
    let (parked, _) = ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read");
    let status = world.store.rows().payments.values().next().expect("it is there").status();
    (status, parked.iter().map(|receipt| (receipt.kind, receipt.reason)).collect())
}

#[test]
fn a_refusal_of_what_was_reported_as_paid_meanwhile_waits_for_a_person() {
    let contradiction = (RailEventKind::Failed, ParkReason::Contradiction);
    for key in [None, Some("k")] {
        assert_eq!(refused_after(Trigger::Confirm, key), (Status::Completed, vec![contradiction]), "{key:?}");
    }
}

#[test]
fn a_refusal_of_what_has_failed_meanwhile_agrees() {
    for key in [None, Some("k")] {
        assert_eq!(refused_after(Trigger::Fail, key), (Status::Failed, Vec::new()), "{key:?}");
        assert_eq!(refused_after(Trigger::Expire, key), (Status::Expired, Vec::new()), "{key:?}");
    }
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
    rail.expect_instruct()
        .times(1)
        .returning(|_| Instructed::Rejected(Failure::new(FailureCode::RailRejected, "")));
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    let failed = attend(&world, &id);
    let code = failed.state().failure.as_ref().map(|failure| failure.code.as_str());
    assert_eq!((failed.status(), code), (Status::Failed, Some("RAIL_REJECTED")));
}

/// When a provider is asked by the usual schedule.
const USUAL_GAPS: &[Duration] = &[Duration::from_mins(1), Duration::from_mins(5)];

/// A rail that is asked by the usual schedule and makes its instructions remotely. The first call for them happens to a
/// node that dies over it, which `dies` is set for; the second is answered.
fn answering_the_second(dies: &Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>) -> MockBank {
    let mut rail = bank_asked_after(USUAL_GAPS);
    let due = Some(Due { at: later(71), action: DueAction::Ask });
    rail.expect_issue().returning(move |_, _| IssuedInstructions {
        due,
        must_be_requested: true,
        ..IssuedInstructions::default()
    });
    rail.expect_reserve().returning(|_| Capacity::Reserved(Reservation::Unneeded));
    let (dies, is_alive) = (Arc::clone(dies), AtomicBool::new(true));
    rail.expect_instruct().returning(move |_| {
        if is_alive.swap(false, Ordering::Relaxed) {
            dies.get().expect("a death")();
        }
        let details = json!({ "voucher_details": { "reference": "7", "barcode": "7", "expires_at": null } });
        Instructed::Given(Box::new(serde_json::from_value(details).expect("instructions")))
    });
    rail
}

/// A deposit by redirect whose node died while it called the rail for instructions, and was found to be dead.
fn lost_over_its_call(rail: impl FnOnce(&mut MockBank), cancelled_after: Option<u64>) -> (World, PaymentId) {
    let dies = Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new());
    let mut bank = answering_the_second(&dies);
    rail(&mut bank);
    let mut world = World::with_rail(bank);
    if let Some(seconds) = cancelled_after {
        world.create = world.create.with_redirectpay_cancel_after(Duration::from_secs(seconds));
    }
    let store = Arc::clone(&world.store);
    assert!(dies.set(Box::new(move || store.fails.store(true, Ordering::Relaxed))).is_ok(), "set once");
    let redirected = with(deposit(), &json!({ "method": "redirectpay", "currency": "LKR" }));
    let lost = ready(world.create.run(creation(&redirected)));
    let Err(CreateError::OutcomeUnknown { id, .. }) = lost else { panic!("it was answered: {lost:?}") };
    world.store.fails.store(false, Ordering::Relaxed);
    assert!(world.store.due(&id).is_some_and(|due| due.at > START), "its node asks for it");
    let queue = world.store.queue();
    queue.contents().release_all();
    assert_eq!(world.store.due(&id), Some(Due { at: START, action: DueAction::Ask }));
    let alert = queue.contents().next_due(Queue::REDIRECTPAY_ALERT);
    assert_eq!(alert, Some(later(6 * 3_600)), "nobody alerts early");
    (world, id)
}

#[test]
fn a_deposit_goes_on_at_once_if_its_node_dies_over_the_call_for_its_instructions() {
    for answer in [RailStatus::NotFound, RailStatus::Pending] {
        let knows = answer.clone();
        let answers = |rail: &mut MockBank| {
            rail.expect_ask().returning(move |_| answer.clone());
        };
        let (world, id) = lost_over_its_call(answers, None);
        assert!(!attend(&world, &id).awaits_instructions(), "{knows:?}");
        assert_eq!(world.store.due(&id), Some(Due { at: later(60), action: DueAction::Ask }));
    }
}

#[test]
fn the_question_of_who_takes_over_a_deposit_is_no_step_of_the_schedule() {
    let silent = |rail: &mut MockBank| {
        rail.expect_ask().times(3).returning(|_| RailStatus::Silent);
    };
    let (world, id) = lost_over_its_call(silent, None);
    for seconds in [60, 300, 300] {
        attend(&world, &id);
        assert_eq!(world.store.due(&id), Some(Due { at: later(seconds), action: DueAction::Ask }));
    }
}

#[test]
fn a_deposit_that_expired_while_its_node_was_dead_is_asked_about_and_not_sent_again() {
    let unheard = |rail: &mut MockBank| {
        rail.expect_ask().times(1).returning(|_| RailStatus::NotFound);
    };
    let (world, id) = lost_over_its_call(unheard, None);
    world.clock.advance(86_400_000);
    assert!(attend(&world, &id).awaits_instructions());
    assert_eq!(attend(&world, &id).status(), Status::Cancelled);
}

#[test]
fn a_deposit_that_expires_before_the_first_question_is_asked_about_all_the_same() {
    let unheard = |rail: &mut MockBank| {
        rail.expect_ask().times(1).returning(|_| RailStatus::NotFound);
    };
    let (world, id) = lost_over_its_call(unheard, Some(30));
    assert!(!attend(&world, &id).awaits_instructions());
    assert_eq!(world.store.due(&id), Some(Due { at: later(30), action: DueAction::Expire }));
}

#[test]
fn only_what_asks_the_rail_after_the_commit_is_taken_with_it() {
    let world = World::with_rail(issuing(DueAction::Ask));
    world.created(&deposit());
    assert!(!world.store.rows().commits[0].takes, "its instructions are made in the commit");
}
