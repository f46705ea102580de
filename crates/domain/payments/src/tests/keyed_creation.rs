//! `Idempotency-Key`: one answer, however often it is asked for.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use quipu_commit::{Answer, Changes, IdempotencyRecord, KeptAnswer, KeyOwner, Nonce};
use quipu_kernel::{Currency, StoreError};
use serde_json::{Value, json};

use super::world::{START, TENANT, World, creation, deposit, ready, with, withdrawal};
use crate::{
    CreateError, Creation,
    create::keyed::{Answered, KeyedRequest, RefusalForm},
};

/// Refusals are told in their words alone.
struct PlainForm;

impl RefusalForm for PlainForm {
    fn refused(&self, error: &CreateError) -> Answer {
        Answer { status: 400, body: error.to_string() }
    }
}

fn keyed(key: &str, body: &Value) -> KeyedRequest {
    KeyedRequest { key: key.parse().expect("a key"), body_hash: body.to_string(), form: Arc::new(PlainForm) }
}

pub(super) fn ask(
    world: &World,
    key: &str,
    body: &Value,
    nonce: Option<&str>,
) -> Result<Answered, CreateError> {
    ready(world.create.run_keyed(signed(body, nonce), keyed(key, body)))
}

fn signed(body: &Value, nonce: Option<&str>) -> Creation {
    let nonce =
        nonce.map(|value| Nonce { value: value.to_owned(), expires_at: START.plus(Duration::from_mins(10)) });
    Creation { nonce, ..creation(body) }
}

#[test]
fn a_repeat_gets_the_first_answer_again() {
    let world = World::new();
    let first = ask(&world, "k", &deposit(), None).expect("created");
    let again = ask(&world, "k", &deposit(), None).expect("repeated");
    assert_eq!((first.replayed, again.replayed), (false, true));
    assert_eq!(first.answer, again.answer);
    assert_eq!(world.store.rows().payments.len(), 1);
    let record = world.store.rows().commits[0].idempotency.clone().expect("a record");
    let id = record.payment_id.expect("a payment");
    assert!(first.answer.body.contains(&format!("\"transaction_id\":\"{id}\"")), "{:?}", first.answer);
}

#[test]
fn another_body_under_the_same_key_is_a_mismatch() {
    let world = World::new();
    ask(&world, "k", &deposit(), None).expect("created");
    let other = with(deposit(), &json!({"amount": 5}));
    let refusal = ask(&world, "k", &other, None).expect_err("mismatch");
    assert!(matches!(refusal, CreateError::IdempotencyKeyMismatch));
    ask(&world, "other", &with(other, &json!({"merchant_reference": "2"})), None).expect("another key");
}

#[test]
fn an_invalid_body_is_another_body_too() {
    let world = World::new();
    let invalid = json!({"amount": 1.5});
    let refusal = ask(&world, "k", &invalid, None).expect_err("invalid");
    assert!(matches!(refusal, CreateError::Invalid(_)), "nothing was asked for under the key before");
    ask(&world, "k", &deposit(), None).expect("created");
    let refusal = ask(&world, "k", &invalid, Some("nonce-1")).expect_err("mismatch");
    assert!(matches!(refusal, CreateError::IdempotencyKeyMismatch), "{refusal}");
    assert!(world.store.rows().nonces.contains("nonce-1"));
    assert!(ask(&world, "k", &deposit(), None).expect("repeated").replayed);
}

#[test]
fn refusals_for_business_reasons_are_kept_even_if_the_reason_goes_away() {
    let world = World::new();
    let poor = ask(&world, "k", &withdrawal(), None).expect("answered");
    let words = CreateError::InsufficientBalance.to_string();
    assert_eq!((poor.answer.body.as_str(), poor.replayed), (words.as_str(), false));
    world.fund(Currency::MXN, 1_000_000);
    let again = ask(&world, "k", &withdrawal(), None).expect("repeated");
    assert_eq!((again.answer, again.replayed), (poor.answer, true));
    let lost = with(deposit(), &json!({"method": "cash", "currency": "USD"}));
    ask(&world, "l", &lost, None).expect("answered");
    assert!(ask(&world, "l", &lost, None).expect("repeated").replayed);
}

#[test]
fn what_is_wrong_with_the_request_is_not_kept() {
    let world = World::new();
    let body = with(deposit(), &json!({"customer_id": 5}));
    for _ in 0..2 {
        assert!(matches!(ask(&world, "k", &body, None), Err(CreateError::Invalid(_))));
    }
    assert!(world.store.rows().kept.is_empty());
    world.store.fails.store(true, Ordering::Relaxed);
    assert!(matches!(ask(&world, "k", &deposit(), None), Err(CreateError::Store(_))));
}

#[test]
fn an_answer_is_kept_for_a_day() {
    let world = World::new();
    ask(&world, "k", &deposit(), None).expect("created");
    world.clock.advance(24 * 3_600_000 - 1);
    assert!(ask(&world, "k", &deposit(), None).expect("repeated").replayed);
    world.clock.advance(1);
    let another = with(deposit(), &json!({"merchant_reference": "order-2"}));
    assert!(!ask(&world, "k", &another, None).expect("created under a free key").replayed);
}

#[test]
fn a_first_request_still_running_keeps_others_away() {
    let world = World::new();
    world.store.holds.store(true, Ordering::Relaxed);
    let body = deposit();
    {
        let mut first = pin!(world.create.run_keyed(creation(&body), keyed("k", &body)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(matches!(ask(&world, "k", &body, None), Err(CreateError::IdempotencyKeyInUse)));
        world.store.holds.store(false, Ordering::Relaxed);
        assert!(first.as_mut().poll(&mut context).is_ready());
    }
    assert!(ask(&world, "k", &body, None).expect("repeated").replayed);
}

#[test]
fn a_repeat_still_running_keeps_no_other_repeat_away() {
    let world = World::new();
    let first = ask(&world, "k", &deposit(), None).expect("created");
    world.store.holds.store(true, Ordering::Relaxed);
    let body = deposit();
    let mut repeat = pin!(world.create.run_keyed(signed(&body, Some("nonce-1")), keyed("k", &body)));
    assert!(repeat.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let other = ask(&world, "k", &body, None).expect("repeated");
    assert_eq!((other.answer, other.replayed), (first.answer, true));
    let mismatch = ask(&world, "k", &with(body.clone(), &json!({"amount": 5})), None);
    assert!(matches!(mismatch, Err(CreateError::IdempotencyKeyMismatch)));
}

/// A signed request that is sent twice at once is accepted once, whichever of the two is the first.
#[test]
fn a_copy_of_a_running_request_burns_nothing_of_it() {
    let world = World::new();
    world.store.holds.store(true, Ordering::Relaxed);
    let body = deposit();
    let mut first = pin!(world.create.run_keyed(signed(&body, Some("the-same")), keyed("k", &body)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    world.store.holds.store(false, Ordering::Relaxed);
    let copy = ask(&world, "k", &body, Some("the-same"));
    assert!(matches!(copy, Err(CreateError::NonceUsed)), "{copy:?}");
    let beside = ask(&world, "k", &body, Some("another"));
    assert!(matches!(beside, Err(CreateError::IdempotencyKeyInUse)), "{beside:?}");
    match first.as_mut().poll(&mut context) {
        Poll::Ready(Ok(answered)) => assert!(!answered.replayed),
        other => panic!("{other:?}"),
    }
    let burnt = world.store.rows().nonces.clone();
    assert!(burnt.contains("the-same") && burnt.contains("another"));
}

#[test]
fn a_request_that_was_dropped_leaves_its_key_free() {
    let world = World::new();
    world.store.holds.store(true, Ordering::Relaxed);
    let body = deposit();
    {
        let mut first = pin!(world.create.run_keyed(creation(&body), keyed("k", &body)));
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    world.store.holds.store(false, Ordering::Relaxed);
    assert!(!ask(&world, "k", &body, None).expect("created").replayed);
}

/// What another node commits under the key `k` just before.
pub(super) fn intruder(body_hash: &str, answer: KeptAnswer) -> Changes {
    let mut changes = Changes::new(TENANT, START);
    changes.idempotency = Some(IdempotencyRecord {
        owner: KeyOwner::Merchant,
        key: "k".parse().expect("a key"),
        body_hash: body_hash.to_owned(),
        payment_id: None,
        answer,
        expires_at: START.plus(std::time::Duration::from_hours(1)),
    });
    changes
}

fn others() -> KeptAnswer {
    KeptAnswer::Given(Answer::success("others".to_owned()))
}

#[test]
fn a_key_that_another_node_used_meanwhile_is_looked_up() {
    for body in [deposit(), withdrawal()] {
        let world = World::new();
        world.store.intrude(intruder(&body.to_string(), others()));
        let answered = ask(&world, "k", &body, Some("a-fresh-nonce")).expect("answered");
        assert_eq!((answered.answer.body.as_str(), answered.replayed), ("others", true));
        assert!(world.store.rows().payments.is_empty());
        assert!(world.store.rows().nonces.contains("a-fresh-nonce"));
    }
    let world = World::new();
    world.store.intrude(intruder("another body", others()));
    assert!(matches!(ask(&world, "k", &deposit(), None), Err(CreateError::IdempotencyKeyMismatch)));
}

#[test]
fn a_key_whose_answer_is_still_to_come_is_a_failure_of_the_store() {
    let world = World::new();
    world.store.intrude(intruder(&deposit().to_string(), KeptAnswer::Later));
    assert!(matches!(ask(&world, "k", &deposit(), None), Err(CreateError::Store(_))));
}

/// The store answers no more once the nonce is burnt, whoever used the key: another node, or a refusal that cannot be kept.
#[test]
fn nobody_is_told_to_send_a_burnt_nonce_again() {
    for (body, is_others) in [(deposit(), true), (withdrawal(), false)] {
        let world = World::new();
        if is_others {
            world.store.intrude(intruder(&body.to_string(), others()));
        }
        world.store.tires.store(true, Ordering::Relaxed);
        let told = ask(&world, "k", &body, Some("nonce-1"));
        assert!(matches!(told, Err(CreateError::IdempotencyKeyInUse)), "{told:?}");
        assert!(world.store.rows().nonces.contains("nonce-1"));
        world.store.rests();
        let again = ask(&world, "k", &body, Some("nonce-2")).expect("an answer");
        assert_eq!(again.replayed, is_others);
    }
}

#[test]
fn who_may_send_the_same_call_again_has_a_nonce_for_it() {
    let world = World::new();
    world.store.tires.store(true, Ordering::Relaxed);
    let unsigned = ask(&world, "k", &withdrawal(), None);
    assert!(matches!(unsigned, Err(CreateError::Store(StoreError::Overloaded))), "{unsigned:?}");
    let signed = ask(&world, "l", &deposit(), Some("nonce-1"));
    assert!(matches!(signed, Err(CreateError::Store(StoreError::Overloaded))), "{signed:?}");
    world.store.rests();
    ask(&world, "l", &deposit(), Some("nonce-1")).expect("created");
}

#[test]
fn a_failure_of_the_gateway_burns_the_nonce() {
    let world = World::new();
    world.store.intrude(intruder(&deposit().to_string(), KeptAnswer::Later));
    assert!(matches!(ask(&world, "k", &deposit(), None), Err(CreateError::Store(_))));
    let failed = ask(&world, "k", &deposit(), Some("nonce-1"));
    assert!(matches!(failed, Err(CreateError::Store(StoreError::Failed(_)))), "{failed:?}");
    assert!(world.store.rows().nonces.contains("nonce-1"));
}

#[test]
fn every_repeat_burns_its_own_nonce_and_a_used_one_wins() {
    let world = World::new();
    let lost = with(deposit(), &json!({"method": "cash", "currency": "USD"}));
    let other = with(deposit(), &json!({"amount": 5}));
    let burnt = |world: &World| world.store.rows().nonces.len();
    ask(&world, "k", &deposit(), Some("nonce-1")).expect("created");
    assert!(ask(&world, "k", &deposit(), Some("nonce-2")).expect("repeated").replayed);
    assert!(matches!(ask(&world, "k", &other, Some("nonce-3")), Err(CreateError::IdempotencyKeyMismatch)));
    ask(&world, "l", &lost, Some("nonce-4")).expect("kept");
    ask(&world, "m", &deposit(), Some("nonce-5")).expect("a duplicate, kept");
    assert_eq!(burnt(&world), 5);
    for (key, body) in [("k", deposit()), ("k", other), ("l", lost), ("n", withdrawal())] {
        for used in ["nonce-1", "nonce-2", "nonce-3", "nonce-4", "nonce-5"] {
            let refusal = ask(&world, key, &body, Some(used)).expect_err("replayed");
            assert!(matches!(refusal, CreateError::NonceUsed), "{key} {used}: {refusal}");
        }
    }
    assert!(!world.store.rows().kept.contains_key("n"));
}
