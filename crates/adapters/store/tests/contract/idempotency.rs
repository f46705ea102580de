//! What is used once: nonces, and keys with the answers they stand for.

use quipu_commit::{Answer, Changes, IdempotencyRecord, KeptAnswer, KeyOwner, MAX_CLOCK_SKEW, Refusal};
use quipu_kernel::{Clock as _, MerchantId, PaymentId, SystemClock, Timestamp};
use quipu_payments::{
    Answered, AttemptError, CustomerClaim, KeptKey, Payment, StaffAttempt, StaffCall, StaffRequest,
    creation_answer,
};

use crate::{
    fixture::{self, AnyStore, Engine, Fixture, funded_any, on_every_store, refusal},
    sample::{START, Sample, after, fresh_customer, nonce, tenant},
};

on_every_store! {
    a_nonce_is_refused_until_it_expires,
    a_nonce_is_burnt_even_if_the_rest_is_refused,
    an_answer_is_kept_with_the_payment_it_names,
    an_answer_that_is_still_to_come_is_brought_once,
    a_refusal_is_kept_as_it_was_given,
    a_key_is_free_again_once_its_answer_expired,
    keys_of_merchant_and_operator_are_apart,
    a_key_of_staff_is_the_same_for_every_merchant,
    a_key_of_staff_names_one_attempt_of_each_call,
    a_key_of_staff_that_was_kept_without_its_call_is_known,
    what_expired_is_pruned,
}

fn record(key: &str, answer: KeptAnswer) -> IdempotencyRecord {
    IdempotencyRecord {
        owner: KeyOwner::Merchant,
        key: key.parse().expect("a key"),
        body_hash: "hash".to_owned(),
        payment_id: None,
        answer,
        expires_at: after(1_000),
    }
}

async fn a_nonce_is_refused_until_it_expires(fixture: Fixture) {
    let store = fixture.any().await;
    let burn = |merchant, at| Changes {
        nonce: Some(nonce("nonce-one", after(at + 600))),
        ..Changes::new(tenant(merchant), after(at))
    };
    store.commit(burn(1, 0)).await.expect("fresh");
    assert_eq!(refusal(store.commit(burn(1, 599)).await), Refusal::NonceUsed);
    store.commit(burn(2, 0)).await.expect("another merchant's");
    store.commit(burn(1, 600)).await.expect("the first has expired");
    assert_eq!(refusal(store.commit(burn(1, 601)).await), Refusal::NonceUsed);
}

async fn a_nonce_is_burnt_even_if_the_rest_is_refused(fixture: Fixture) {
    let store = fixture.any().await;
    let poor = || {
        let mut poor = Sample::withdrawal(tenant(1), 5).create();
        poor.nonce = Some(nonce("nonce-two", after(600)));
        poor
    };
    assert!(matches!(refusal(store.commit(poor()).await), Refusal::Posting(_)));
    assert_eq!(refusal(store.commit(poor()).await), Refusal::NonceUsed);
}

async fn an_answer_is_kept_with_the_payment_it_names(fixture: Fixture) {
    let store = funded_any(&fixture, 1_000).await;
    let change = || {
        let mut change = Sample::withdrawal(tenant(1), 5).create();
        change.idempotency = Some(record("key", KeptAnswer::OfSaved));
        change
    };
    let mut committed = store.commit(change()).await.expect("committed");
    let answer = committed.answer.take().expect("an answer");
    let payment = committed.into_saved::<Payment>().expect("a payment");
    assert_eq!(answer, creation_answer(&payment));
    assert_eq!(kept(&store, 1, "key", START).await.and_then(|kept| kept.answer), Some(answer));
    assert_eq!(kept(&store, 2, "key", START).await, None);
    assert_eq!(refusal(store.commit(change()).await), Refusal::IdempotencyKeyUsed);
}

async fn an_answer_that_is_still_to_come_is_brought_once(fixture: Fixture) {
    let store = fixture.any().await;
    let sample = Sample::deposit(tenant(1), 5);
    let payment = sample.payment();
    let with = |mut change: Changes, answer, id: &PaymentId| {
        let mut record = record("late", answer);
        record.payment_id = Some(id.clone());
        change.idempotency = Some(record);
        change
    };
    let made = sample.create_as(payment.clone(), CustomerClaim::MatchOrCreate(fresh_customer()));
    store.commit(with(made, KeptAnswer::Later, payment.id())).await.expect("committed");
    let waiting = kept(&store, 1, "late", START).await.expect("kept");
    assert_eq!((waiting.answer, waiting.payment_id.as_ref()), (None, Some(payment.id())));
    let brought = |id: &PaymentId| {
        let answer = Answer::success("there".to_owned());
        with(Changes::new(tenant(1), after(1)), KeptAnswer::Brought(answer), id)
    };
    let foreign = Sample::deposit(tenant(1), 5).payment();
    let refused = store.commit(brought(foreign.id())).await;
    assert_eq!(refusal(refused), Refusal::IdempotencyKeyUsed, "of another payment");
    store.commit(brought(payment.id())).await.expect("brought");
    let there = kept(&store, 1, "late", START).await.and_then(|kept| kept.answer).expect("an answer");
    assert_eq!(there.body, "there");
    assert_eq!(refusal(store.commit(brought(payment.id())).await), Refusal::IdempotencyKeyUsed);
}

/// What is kept under a merchant's key.
async fn kept(store: &AnyStore, merchant: i64, key: &str, at: Timestamp) -> Option<KeptKey> {
    let key = key.parse().expect("a key");
    store.kept_key(tenant(merchant), KeyOwner::Merchant, &key, at).await.expect("read")
}

fn given(status: u16, body: &str) -> KeptAnswer {
    KeptAnswer::Given(Answer { status, body: body.to_owned() })
}

async fn a_refusal_is_kept_as_it_was_given(fixture: Fixture) {
    let store = fixture.any().await;
    let change =
        Changes { idempotency: Some(record("no", given(400, "no"))), ..Changes::new(tenant(1), START) };
    store.commit(change).await.expect("committed");
    let row = kept(&store, 1, "no", START).await.expect("kept");
    assert_eq!((row.body_hash.as_str(), row.payment_id), ("hash", None));
    assert_eq!(row.answer, Some(Answer { status: 400, body: "no".to_owned() }));
}

async fn a_key_is_free_again_once_its_answer_expired(fixture: Fixture) {
    let store = fixture.any().await;
    let keep = |at, body: &str| {
        let mut record = record("again", given(400, body));
        record.expires_at = after(at + 100);
        Changes { idempotency: Some(record), ..Changes::new(tenant(1), after(at)) }
    };
    store.commit(keep(0, "one")).await.expect("kept");
    assert_eq!(refusal(store.commit(keep(99, "two")).await), Refusal::IdempotencyKeyUsed);
    assert_eq!(kept(&store, 1, "again", after(100)).await, None);
    store.commit(keep(100, "three")).await.expect("kept again");
    let anew = kept(&store, 1, "again", after(101)).await.and_then(|kept| kept.answer);
    assert_eq!(anew.map(|answer| answer.body).as_deref(), Some("three"));
}

async fn keys_of_merchant_and_operator_are_apart(fixture: Fixture) {
    let store = fixture.any().await;
    for owner in [KeyOwner::Merchant, KeyOwner::Operator] {
        let mut record = record("both", given(200, ""));
        record.owner = owner;
        let change = Changes { idempotency: Some(record), ..Changes::new(tenant(1), START) };
        store.commit(change).await.expect("each has its own");
    }
}

async fn a_key_of_staff_is_the_same_for_every_merchant(fixture: Fixture) {
    let store = fixture.any().await;
    let mut record = record("one", given(200, ""));
    record.owner = KeyOwner::Operator;
    let change =
        |merchant| Changes { idempotency: Some(record.clone()), ..Changes::new(tenant(merchant), START) };
    store.commit(change(1)).await.expect("kept");
    assert_eq!(refusal(store.commit(change(2)).await), Refusal::IdempotencyKeyUsed);
    let key = "one".parse().expect("a key");
    let kept = store.kept_key(tenant(3), KeyOwner::Operator, &key, START).await.expect("read");
    assert!(kept.is_some());
}

const CALLS: [StaffCall<'static>; 2] = [StaffCall::Adjust(MerchantId(1)), StaffCall::Adjust(MerchantId(2))];

/// The attempt of a call under the key `staff`.
fn attempt(store: &AnyStore, call: StaffCall<'_>, asked: &str, at: Timestamp) -> StaffAttempt {
    let key = "staff".parse().expect("a key");
    let request = StaffRequest { tenant: tenant(1), call, key: &key, request_hash: asked.to_owned(), at };
    StaffAttempt::new(store.clone(), store.clone(), request)
}

fn answered(body: &str, replayed: bool) -> Answered {
    Answered { answer: Answer::success(body.to_owned()), replayed }
}

async fn a_key_of_staff_names_one_attempt_of_each_call(fixture: Fixture) {
    let store = fixture.any().await;
    let bodies = ["of the one", "of the other"];
    for (call, body) in CALLS.into_iter().zip(bodies) {
        let attempt = attempt(&store, call, "asked", START);
        assert_eq!(attempt.repeat().await.expect("read"), None, "{call}");
        let first = answered(body, false);
        assert_eq!(attempt.keep(first.answer.clone()).await.expect("kept"), first);
        let late = answered("too late", false);
        assert_eq!(attempt.keep(late.answer).await.expect("kept"), answered(body, true));
    }
    for (call, body) in CALLS.into_iter().zip(bodies) {
        let again = attempt(&store, call, "asked", after(1)).repeat().await;
        assert_eq!(again.expect("read"), Some(answered(body, true)), "{call}");
        let other = attempt(&store, call, "something else", after(1)).repeat().await;
        assert!(matches!(other, Err(AttemptError::Mismatch)), "{call}: {other:?}");
    }
}

async fn a_key_of_staff_that_was_kept_without_its_call_is_known(fixture: Fixture) {
    let store = fixture.any().await;
    let record = IdempotencyRecord {
        owner: KeyOwner::Operator,
        body_hash: "asked".to_owned(),
        ..record("staff", given(200, "of an earlier release"))
    };
    let change = Changes { idempotency: Some(record), ..Changes::new(tenant(1), START) };
    store.commit(change).await.expect("kept");
    let [one, other] = CALLS;
    let again = attempt(&store, one, "asked", after(999)).repeat().await;
    assert_eq!(again.expect("read"), Some(answered("of an earlier release", true)));
    for call in [one, other] {
        let refused = attempt(&store, call, "something else", after(999)).repeat().await;
        assert!(matches!(refused, Err(AttemptError::Mismatch)), "{call}: {refused:?}");
    }
    let free = attempt(&store, one, "asked", after(1_000)).repeat().await;
    assert_eq!(free.expect("read"), None);
}

/// A node whose clock is ahead deletes nothing that others still need. Only a server has a clock of its own.
#[test]
fn what_expired_by_a_clock_that_is_ahead_stays() {
    fixture::run(Engine::Postgres, |fixture| async move {
        let (store, now) = (fixture.any().await, SystemClock.now());
        let change = Changes { nonce: Some(nonce("nonce-of-now", now)), ..Changes::new(tenant(1), now) };
        store.commit(change).await.expect("committed");
        let ahead = now.plus(MAX_CLOCK_SKEW * 3);
        assert_eq!(store.delete_expired(ahead, 10).await.expect("asked"), 0);
    });
}

async fn what_expired_is_pruned(fixture: Fixture) {
    let store = fixture.any().await;
    for number in 0..5_i64 {
        let mut record = record(&format!("key-{number}"), given(200, ""));
        record.expires_at = after(number);
        let change = Changes {
            nonce: Some(nonce(&format!("nonce-{number}"), after(number))),
            idempotency: Some(record),
            ..Changes::new(tenant(1), after(-1))
        };
        store.commit(change).await.expect("committed");
    }
    assert_eq!(
        store.delete_expired(after(3), 10).await.expect("asked"),
        0,
        "another node's clock may be behind"
    );
    assert_eq!(store.delete_expired(after(3).plus(MAX_CLOCK_SKEW), 2).await.expect("deleted"), 4);
    assert_eq!(store.delete_expired(after(3).plus(MAX_CLOCK_SKEW), 10).await.expect("deleted"), 2);
    assert_eq!(store.delete_expired(after(3).plus(MAX_CLOCK_SKEW), 10).await.expect("deleted"), 0);
    let again = Changes { nonce: Some(nonce("nonce-4", after(9))), ..Changes::new(tenant(1), START) };
    assert_eq!(refusal(store.commit(again).await), Refusal::NonceUsed);
}
