//! What is used once: nonces, and keys with the answers they stand for.

use std::sync::Arc;

use quipu_payments::{
    Answer, AnswerForm, Audience, Changes, Commit as _, IdempotencyRecord, KeptAnswer, Payment,
    PaymentReads as _, Refusal,
};

use quipu_payments::DueQueue as _;

use crate::{
    fixture::{Fixture, funded, on_both_databases, refusal},
    sample::{START, Sample, after, nonce, tenant},
};

on_both_databases! {
    a_nonce_is_refused_until_it_expires,
    a_nonce_is_burnt_even_if_the_rest_is_refused,
    an_answer_is_kept_with_the_payment_it_names,
    a_refusal_is_kept_as_it_was_sealed,
    a_key_is_free_again_once_its_answer_expired,
    keys_of_merchant_and_operator_are_apart,
    what_expired_is_pruned,
}

struct Form;

impl AnswerForm for Form {
    fn created(&self, payment: &Payment) -> Answer {
        let body = format!("{} {}", payment.id(), payment.terms().customer.id);
        Answer { status: 200, body: body.into_bytes() }
    }

    fn sealed(&self, answer: &Answer) -> String {
        format!("sealed {}", String::from_utf8_lossy(&answer.body))
    }
}

fn record(key: &str, answer: KeptAnswer) -> IdempotencyRecord {
    IdempotencyRecord {
        audience: Audience::Merchant,
        key: key.parse().expect("a key"),
        body_hash: "hash".to_owned(),
        payment_id: None,
        answer,
        expires_at: after(1_000),
    }
}

async fn a_nonce_is_refused_until_it_expires(fixture: Fixture) {
    let store = fixture.open().await;
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
    let store = fixture.open().await;
    let mut poor = Sample::withdrawal(tenant(1), 5).create();
    poor.nonce = Some(nonce("nonce-two", after(600)));
    assert!(matches!(refusal(store.commit(poor.clone()).await), Refusal::Posting(_)));
    assert_eq!(refusal(store.commit(poor).await), Refusal::NonceUsed);
}

async fn an_answer_is_kept_with_the_payment_it_names(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let mut change = Sample::withdrawal(tenant(1), 5).create();
    change.idempotency = Some(record("key", KeptAnswer::FromPayment(Arc::new(Form))));
    let committed = store.commit(change.clone()).await.expect("committed");
    let payment = committed.payment.expect("a payment");
    let text = format!("{} {}", payment.id(), payment.terms().customer.id);
    assert_eq!(committed.answer, Some(Answer { status: 200, body: text.clone().into_bytes() }));
    let key = "key".parse().expect("a key");
    let kept = store.kept_answer(tenant(1), Audience::Merchant, &key, START).await.expect("read");
    assert_eq!(kept, Some(("hash".to_owned(), 200, format!("sealed {text}"))));
    assert_eq!(store.kept_answer(tenant(2), Audience::Merchant, &key, START).await.expect("read"), None);
    assert_eq!(refusal(store.commit(change).await), Refusal::IdempotencyKeyUsed);
}

async fn a_refusal_is_kept_as_it_was_sealed(fixture: Fixture) {
    let store = fixture.open().await;
    let sealed = KeptAnswer::Sealed { status: 400, body: "sealed no".to_owned() };
    let change = Changes { idempotency: Some(record("no", sealed)), ..Changes::new(tenant(1), START) };
    assert_eq!(store.commit(change).await.expect("committed").answer, None);
    let key = "no".parse().expect("a key");
    let kept = store.kept_answer(tenant(1), Audience::Merchant, &key, START).await.expect("read");
    assert_eq!(kept, Some(("hash".to_owned(), 400, "sealed no".to_owned())));
}

async fn a_key_is_free_again_once_its_answer_expired(fixture: Fixture) {
    let store = fixture.open().await;
    let keep = |at, body: &str| {
        let mut record = record("again", KeptAnswer::Sealed { status: 400, body: body.to_owned() });
        record.expires_at = after(at + 100);
        Changes { idempotency: Some(record), ..Changes::new(tenant(1), after(at)) }
    };
    store.commit(keep(0, "one")).await.expect("kept");
    assert_eq!(refusal(store.commit(keep(99, "two")).await), Refusal::IdempotencyKeyUsed);
    let key = "again".parse().expect("a key");
    let at_end = store.kept_answer(tenant(1), Audience::Merchant, &key, after(100)).await.expect("read");
    assert_eq!(at_end, None);
    store.commit(keep(100, "three")).await.expect("kept anew");
    let kept = store.kept_answer(tenant(1), Audience::Merchant, &key, after(101)).await.expect("read");
    assert_eq!(kept.map(|(_, _, body)| body).as_deref(), Some("three"));
}

async fn keys_of_merchant_and_operator_are_apart(fixture: Fixture) {
    let store = fixture.open().await;
    for audience in [Audience::Merchant, Audience::Operator] {
        let mut record = record("both", KeptAnswer::Sealed { status: 200, body: String::new() });
        record.audience = audience;
        let change = Changes { idempotency: Some(record), ..Changes::new(tenant(1), START) };
        store.commit(change).await.expect("each has its own");
    }
}

async fn what_expired_is_pruned(fixture: Fixture) {
    let store = fixture.open().await;
    for number in 0..5_i64 {
        let mut record =
            record(&format!("key-{number}"), KeptAnswer::Sealed { status: 200, body: String::new() });
        record.expires_at = after(number);
        let change = Changes {
            nonce: Some(nonce(&format!("nonce-{number}"), after(number))),
            idempotency: Some(record),
            ..Changes::new(tenant(1), after(-1))
        };
        store.commit(change).await.expect("committed");
    }
    assert_eq!(store.prune(after(3), 2).await.expect("pruned"), 4);
    assert_eq!(store.prune(after(3), 10).await.expect("pruned"), 2);
    assert_eq!(store.prune(after(3), 10).await.expect("pruned"), 0);
    let again = Changes { nonce: Some(nonce("nonce-4", after(9))), ..Changes::new(tenant(1), START) };
    assert_eq!(refusal(store.commit(again).await), Refusal::NonceUsed);
}
