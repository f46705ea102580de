//! Creations whose commit was not answered.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, atomic::Ordering},
    task::{Context, Waker},
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{Answer, Changes, Commit, CommitError, Committed, KeptAnswer, Nonce};
use quipu_kernel::{Currency, PaymentId, StoreError};
use serde_json::json;

use super::{
    keyed_creation::{ask, intruder},
    world::{START, TENANT, World, bank_asked_after, creation, deposit, ready, with, withdrawal},
};
use crate::{Capacity, CreateError, Creation, Instructed, IssuedInstructions, Payment, Reservation, Trigger};

/// What becomes of a commit.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It happens, and is answered.
    Done,
    /// It happens, and nobody hears of it.
    LostAfter,
    /// It does not happen, and nobody hears of that either.
    LostBefore,
    /// The store says that it did not happen.
    Away,
}

/// A store whose next commits have these fates, and all others happen.
struct Fated {
    store: Arc<dyn Commit>,
    fates: Mutex<VecDeque<Fate>>,
}

#[async_trait]
impl Commit for Fated {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let fate = self.fates.lock().expect("no test panics with the lock").pop_front();
        let unknown = || StoreError::OutcomeUnknown("told to".to_owned());
        match fate {
            None | Some(Fate::Done) => self.store.commit(changes).await,
            Some(Fate::LostAfter) => {
                self.store.commit(changes).await?;
                Err(unknown().into())
            }
            Some(Fate::LostBefore) => Err(unknown().into()),
            Some(Fate::Away) => Err(StoreError::Unavailable("told to".to_owned()).into()),
        }
    }
}

fn world(fates: &[Fate]) -> World {
    fated(World::new(), fates)
}

fn fated(mut world: World, fates: &[Fate]) -> World {
    world.fund(Currency::MXN, 1_000_000);
    let fates = Mutex::new(fates.iter().copied().collect());
    world.create.commit = Arc::new(Fated { store: world.store.clone(), fates });
    world
}

fn asked(world: &World, creation: Creation) -> Result<Payment, CreateError> {
    ready(world.create.run(creation))
}

fn unknown<T: std::fmt::Debug>(outcome: Result<T, CreateError>) -> PaymentId {
    match outcome {
        Err(CreateError::OutcomeUnknown { id, .. }) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_that_is_told_of_an_earlier_attempt_uses_up_its_nonce() {
    let world = world(&[Fate::LostBefore, Fate::Away]);
    let id = unknown(ask(&world, "k", &deposit(), Some("nonce-1")));
    assert_eq!(unknown(ask(&world, "l", &deposit(), Some("nonce-2"))), id);
    assert!(world.store.rows().nonces.contains("nonce-2"));
}

#[test]
fn a_repeat_finds_the_payment_that_was_made() {
    let world = world(&[Fate::LostAfter]);
    let id = unknown(asked(&world, creation(&withdrawal())));
    let again = asked(&world, creation(&withdrawal()));
    assert!(matches!(again, Err(CreateError::DuplicateReference { holder }) if holder == id));
    assert_eq!(world.store.rows().payments.len(), 1);
}

#[test]
fn a_repeat_is_another_payment_once_the_first_one_has_failed() {
    let world = world(&[Fate::LostAfter]);
    let id = unknown(asked(&world, creation(&deposit())));
    world.moved(&id, Trigger::Fail);
    let again = asked(&world, creation(&deposit())).expect("made");
    assert_ne!(*again.id(), id, "the reference is free");
    let third = asked(&world, creation(&deposit()));
    assert!(matches!(third, Err(CreateError::DuplicateReference { holder }) if holder == *again.id()));
}

#[test]
fn a_repeat_that_finds_no_room_is_told_nothing_of_a_first_one_that_has_failed() {
    let world = world(&[Fate::LostAfter, Fate::Away]);
    let id = unknown(asked(&world, creation(&deposit())));
    world.moved(&id, Trigger::Fail);
    let away = asked(&world, creation(&deposit()));
    assert!(matches!(away, Err(CreateError::Store(StoreError::Unavailable(_)))), "{away:?}");
    assert_ne!(*asked(&world, creation(&deposit())).expect("made").id(), id);
}

#[test]
fn a_repeat_makes_the_payment_that_was_not_made_under_the_identifier_that_was_told() {
    let world = world(&[Fate::LostBefore]);
    let id = unknown(asked(&world, creation(&withdrawal())));
    assert!(world.store.rows().payments.is_empty());
    let again = asked(&world, creation(&withdrawal())).expect("made");
    assert_eq!(*again.id(), id);
    let other = with(withdrawal(), &json!({"merchant_reference": "another"}));
    assert_ne!(*asked(&world, creation(&other)).expect("made").id(), id);
}

#[test]
fn a_key_that_comes_with_another_reference_leaves_the_told_identifier_to_its_own_payment() {
    let world = world(&[Fate::LostBefore]);
    let id = unknown(ask(&world, "k", &deposit(), None));
    let other = with(deposit(), &json!({"merchant_reference": "another"}));
    ask(&world, "k", &other, None).expect("made");
    assert_eq!(world.store.rows().payments.len(), 1);
    ask(&world, "another key", &deposit(), None).expect("made");
    assert_eq!(world.store.rows().payments.len(), 2);
    assert_eq!(world.store.payment(&id).terms().merchant_reference, "order-1");
}

#[test]
fn of_two_repeats_at_once_one_makes_the_payment_and_the_other_finds_it() {
    let world = world(&[Fate::LostBefore]);
    let id = unknown(asked(&world, creation(&withdrawal())));
    world.store.holds.store(true, Ordering::Relaxed);
    let mut repeats = [(); 2].map(|()| Box::pin(world.create.run(creation(&withdrawal()))));
    for repeat in &mut repeats {
        let polled = repeat.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "both have looked for the payment, and none has committed");
    }
    world.store.holds.store(false, Ordering::Relaxed);
    let [one, other] = repeats.map(ready);
    assert_eq!(*one.expect("made").id(), id);
    assert!(matches!(other, Err(CreateError::DuplicateReference { holder }) if holder == id));
    assert_eq!(world.store.rows().payments.len(), 1);
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN).frozen.get(), 50_000);
}

#[test]
fn until_it_is_known_every_repeat_is_told_of_the_same_payment() {
    let fates = [Fate::LostBefore, Fate::Away, Fate::LostBefore, Fate::Away, Fate::LostAfter];
    let world = world(&fates);
    let first = unknown(asked(&world, creation(&deposit())));
    for _ in &fates[1..] {
        assert_eq!(unknown(asked(&world, creation(&deposit()))), first);
    }
    let found = asked(&world, creation(&deposit()));
    assert!(matches!(found, Err(CreateError::DuplicateReference { holder }) if holder == first));
}

#[test]
fn a_store_that_was_away_all_the_time_leaves_nothing_unknown() {
    let world = world(&[Fate::Away]);
    let away = asked(&world, creation(&deposit()));
    assert!(matches!(away, Err(CreateError::Store(StoreError::Unavailable(_)))), "{away:?}");
    asked(&world, creation(&deposit())).expect("made");
}

#[test]
fn a_payment_that_stands_is_never_told_not_to_because_its_answer_could_not_be_kept() {
    const GAPS: &[Duration] = &[Duration::from_secs(2)];
    let mut rail = bank_asked_after(GAPS);
    rail.expect_issue()
        .returning(|_, _| IssuedInstructions { must_be_requested: true, ..IssuedInstructions::default() });
    rail.expect_reserve().returning(|_| Capacity::Reserved(Reservation::Unneeded));
    rail.expect_instruct().returning(|_| Instructed::Unknown);
    let world = fated(World::with_rail(rail), &[Fate::Done, Fate::Done, Fate::Away, Fate::LostBefore]);
    let first = unknown(ask(&world, "k", &deposit(), None));
    world.moved(&first, Trigger::Confirm);
    for _ in 0..2 {
        assert_eq!(unknown(ask(&world, "k", &deposit(), None)), first);
    }
    let found = ask(&world, "k", &deposit(), None).expect("an answer");
    assert!(found.answer.body.contains("\"status\":\"completed\""), "{:?}", found.answer);
    assert_eq!(ask(&world, "k", &deposit(), None).expect("the same").answer, found.answer);
}

#[test]
fn of_two_repeats_that_bring_an_answer_both_give_that_of_the_first() {
    let mut rail = bank_asked_after(&[]);
    rail.expect_issue()
        .returning(|_, _| IssuedInstructions { must_be_requested: true, ..IssuedInstructions::default() });
    rail.expect_reserve().returning(|_| Capacity::Reserved(Reservation::Unneeded));
    rail.expect_instruct().returning(|_| Instructed::Unknown);
    let world = World::with_rail(rail);
    let id = unknown(ask(&world, "k", &deposit(), None));
    world.moved(&id, Trigger::Confirm);
    let brought = KeptAnswer::Brought(Answer::success("others".to_owned()));
    let mut other = intruder(&deposit().to_string(), brought);
    other.idempotency.as_mut().expect("a record").payment_id = Some(id);
    world.store.intrude(other);
    for _ in 0..2 {
        let repeated = ask(&world, "k", &deposit(), None).expect("an answer");
        assert_eq!((repeated.answer.body.as_str(), repeated.replayed), ("others", true));
    }
}

#[test]
fn a_call_that_the_store_could_not_take_may_be_sent_again_as_it_is() {
    let signed = || {
        let nonce = Nonce { value: "the-same-nonce".to_owned(), expires_at: START };
        Creation { nonce: Some(nonce), ..creation(&deposit()) }
    };
    let world = world(&[Fate::Away]);
    let away = asked(&world, signed());
    assert!(matches!(away, Err(CreateError::Store(StoreError::Unavailable(_)))), "{away:?}");
    assert!(world.store.rows().nonces.is_empty(), "no commit was tried for the nonce alone");
    asked(&world, signed()).expect("made");
}
