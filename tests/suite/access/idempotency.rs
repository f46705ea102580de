//! `Idempotency-Key`: what is kept, and for whom (docs/API.md, "Retries and idempotency").

use quipu_tests::{
    Answer, Client, Database, Gateway, draft, on_both_databases,
    signature::{SignedRequest, fresh_nonce},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::people::{SigningMerchant, key_with_id, set_status, text};

const PAYMENTS: &str = "/api/v1/payments";

on_both_databases!(
    the_first_answer_is_replayed_byte_for_byte,
    another_body_under_the_same_key_is_a_mismatch,
    refusals_by_the_merchants_state_are_kept,
    what_never_reached_the_use_case_is_not_kept,
    keys_are_1_to_255_printable_characters,
    keys_of_merchants_environments_and_versions_are_apart,
    a_signing_merchant_repeats_under_fresh_nonces,
    an_adjustment_is_made_once_under_the_operators_own_key,
);

async fn the_first_answer_is_replayed_byte_for_byte(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let page = draft::with(draft::deposit_mxn(70), "/type", json!("deposit_pp"));
    for body in [draft::deposit_mxn(70), draft::withdrawal_ars(300), page] {
        let key = fresh_nonce();
        let first = create(&merchant.api, &body, &key).await;
        first.ok();
        assert_eq!(first.header("Idempotent-Replayed"), None);
        let id = text(&first.json(), "transaction_id");
        for _ in 0..3 {
            assert_replayed(&create(&merchant.api, &body, &key).await, &first);
        }
        // The answer of that moment, whatever has become of the payment since.
        merchant.wait_for(&id, "completed").await;
        assert_replayed(&create(&merchant.api, &body, &key).await, &first);
    }
    assert_eq!(merchant.balance("ARS").await, (700, 0));
    assert_eq!(merchant.api.get(PAYMENTS).await.ok()["total"], 3);
}

async fn another_body_under_the_same_key_is_a_mismatch(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (key, body) = (fresh_nonce(), draft::deposit_mxn(70));
    let first = create(&merchant.api, &body, &key).await;
    first.ok();
    let other = create(&merchant.api, &draft::deposit_mxn(70), &key).await;
    other.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    // Other bytes are another body, even if they mean the same.
    let spaced = format!("{body} ").into_bytes();
    let headers = [("Idempotency-Key", key.as_str())];
    let spaced = merchant.api.send(Method::POST, PAYMENTS, Some(spaced), &headers).await;
    spaced.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    // So is one that would not do under any key.
    for invalid in ["{}", "{", ""] {
        let invalid = merchant.api.send(Method::POST, PAYMENTS, Some(invalid.into()), &headers).await;
        invalid.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    }
    assert_replayed(&create(&merchant.api, &body, &key).await, &first);
    assert_eq!(merchant.api.get(PAYMENTS).await.ok()["total"], 1);
}

async fn refusals_by_the_merchants_state_are_kept(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let taken = draft::steered(draft::deposit_mxn(70), "stay");
    merchant.create(&taken).await;
    let duplicate =
        draft::with(draft::deposit_mxn(71), "/merchant_reference", taken["merchant_reference"].clone());
    for (body, status, code) in [
        (draft::withdrawal_ars(300), 400, "INSUFFICIENT_BALANCE"),
        (draft::deposit("TRY", "card", 70), 400, "CURRENCY_NOT_ENABLED"),
        (duplicate, 409, "DUPLICATE_MERCHANT_REFERENCE"),
    ] {
        let key = fresh_nonce();
        let first = create(&merchant.api, &body, &key).await;
        first.refused(status, code);
        assert_eq!(first.header("Idempotent-Replayed"), None);
        // The state changes, and the answer does not.
        merchant.fund("ARS", 1_000).await;
        assert_replayed(&create(&merchant.api, &body, &key).await, &first);
        let other = create(&merchant.api, &draft::deposit_mxn(1), &key).await;
        other.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    }
    assert_eq!(merchant.api.get(PAYMENTS).await.ok()["total"], 1);
}

async fn what_never_reached_the_use_case_is_not_kept(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let no_scope = merchant.key(&json!({ "scopes": ["payments.read"] })).await;
    let (key, body) = (fresh_nonce(), draft::deposit_mxn(70));

    create(&gateway.anonymous(), &body, &key).await.refused(401, "API_KEY_MISSING");
    create(&no_scope, &body, &key).await.refused(403, "SCOPE_MISSING");
    create(&merchant.api, &json!({ "amount": 1.5 }), &key).await.refused(400, "VALIDATION_FAILED");
    let headers = [("Idempotency-Key", key.as_str()), ("Content-Type", "text/plain")];
    let bytes = Some(body.to_string().into_bytes());
    let plain = merchant.api.send(Method::POST, PAYMENTS, bytes, &headers).await;
    plain.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let spent = merchant.key(&json!({ "rate_limits": { "create_per_minute": 1 } })).await;
    spent.create(&json!({})).await.refused(400, "VALIDATION_FAILED");
    create(&spent, &body, &key).await.refused(429, "RATE_LIMITED");
    let operator = gateway.operator();
    set_status(&operator, merchant.id, "suspended").await;
    create(&merchant.api, &body, &key).await.refused(403, "MERCHANT_SUSPENDED");
    set_status(&operator, merchant.id, "active").await;
    // Nor is what is wrong with a request as only the merchant's rows show.
    let stranger = draft::with(body.clone(), "/customer_id", json!(1));
    create(&merchant.api, &stranger, &key).await.invalid("customer_id");

    let first = create(&merchant.api, &body, &key).await;
    first.ok();
    assert_eq!(first.header("Idempotent-Replayed"), None);
    assert_replayed(&create(&merchant.api, &body, &key).await, &first);
    create(&no_scope, &body, &key).await.refused(403, "SCOPE_MISSING");
    create(&spent, &body, &key).await.refused(429, "RATE_LIMITED");
    assert_replayed(&create(&merchant.api, &body, &key).await, &first);
}

async fn keys_are_1_to_255_printable_characters(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for key in ["", &"k".repeat(256), "tab\tkey", "llave-ñ"] {
        let answer = create(&merchant.api, &draft::deposit_mxn(7), key).await;
        answer.refused(400, "VALIDATION_FAILED");
    }
    // What else is wrong is said along with it.
    let answer = create(&merchant.api, &json!({ "amount": 0.5 }), "").await;
    answer.invalid("Idempotency-Key");
    answer.invalid("amount");
    let twice = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")];
    let answer = merchant.api.post_with(PAYMENTS, &draft::deposit_mxn(7), &twice).await;
    answer.invalid("Idempotency-Key");
    for key in ["k", "a key, with: \"spaces\" ~", &"k".repeat(255)] {
        let body = draft::deposit_mxn(7);
        let first = create(&merchant.api, &body, key).await;
        first.ok();
        assert_replayed(&create(&merchant.api, &body, key).await, &first);
    }
    assert_eq!(merchant.api.get(PAYMENTS).await.ok()["total"], 3);
}

async fn keys_of_merchants_environments_and_versions_are_apart(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, other) = (gateway.merchant().await, gateway.merchant().await);
    let (_, live) = key_with_id(&merchant, &json!({ "environment": "live" })).await;
    let (key, body) = (fresh_nonce(), draft::deposit_mxn(70));
    let first = create(&merchant.api, &body, &key).await;
    first.ok();

    let elsewhere = create(&other.api, &body, &key).await;
    assert_eq!(elsewhere.header("Idempotent-Replayed"), None);
    assert_ne!(elsewhere.ok()["transaction_id"], first.json()["transaction_id"]);
    let live = create(&gateway.anonymous().with_api_key(&live), &body, &key).await;
    assert_eq!(live.header("Idempotent-Replayed"), None);
    live.refused(400, "CURRENCY_NOT_ENABLED");
    // Another key of the same merchant and environment is the same caller.
    let second = merchant.key(&json!({})).await;
    assert_replayed(&create(&second, &body, &key).await, &first);
}

async fn a_signing_merchant_repeats_under_fresh_nonces(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, caller) = (SigningMerchant::onboard(&gateway).await, gateway.anonymous());
    let (key, body) = (fresh_nonce(), draft::deposit_mxn(70));
    let signed =
        || -> SignedRequest { merchant.signer.post("/api/v2/payments", &body).with("Idempotency-Key", &key) };
    let request = signed();
    let first = request.send(&caller).await;
    first.ok();
    assert_eq!(first.header("Idempotent-Replayed"), None);
    assert_replayed(&signed().send(&caller).await, &first);
    // The nonce of a repeat is used like any other.
    request.send(&caller).await.refused(401, "NONCE_REUSED");
    let repeat = signed();
    assert_replayed(&repeat.send(&caller).await, &first);
    repeat.send(&caller).await.refused(401, "NONCE_REUSED");
    let other = merchant.signer.post("/api/v2/payments", &draft::deposit_mxn(1));
    let other = other.with("Idempotency-Key", &key).send(&caller).await;
    other.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
}

async fn an_adjustment_is_made_once_under_the_operators_own_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (operator, path) = (gateway.operator(), merchant.operator_path("/adjustments"));
    let adjustment = |amount| json!({ "environment": "test", "currency": "ARS", "amount": amount, "reason": "pre-funding" });
    let adjust = async |amount, key: &str| {
        operator.post_with(&path, &adjustment(amount), &[("Idempotency-Key", key)]).await
    };
    let key = fresh_nonce();
    let first = adjust(700, &key).await;
    first.ok();
    assert_eq!(first.header("Idempotent-Replayed"), None);
    for _ in 0..3 {
        assert_replayed(&adjust(700, &key).await, &first);
    }
    adjust(701, &key).await.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    assert_eq!(merchant.balance("ARS").await, (700, 0));

    // For another merchant it is another attempt.
    let other = gateway.merchant().await;
    let path_of_other = other.operator_path("/adjustments");
    let elsewhere = operator.post_with(&path_of_other, &adjustment(700), &[("Idempotency-Key", &key)]).await;
    elsewhere.ok();
    assert_eq!(elsewhere.header("Idempotent-Replayed"), None);
    assert_eq!((other.balance("ARS").await, merchant.balance("ARS").await), ((700, 0), (700, 0)));
    let live = draft::with(adjustment(700), "/environment", json!("live"));
    let live = operator.post_with(&path, &live, &[("Idempotency-Key", &key)]).await;
    live.refused(422, "IDEMPOTENCY_KEY_MISMATCH");

    // A refusal is kept as well, and the merchant's keys are its own.
    let refusal = fresh_nonce();
    let refused = adjust(-1_000, &refusal).await;
    refused.refused(400, "INSUFFICIENT_BALANCE");
    merchant.fund("ARS", 1_000).await;
    assert_replayed(&adjust(-1_000, &refusal).await, &refused);
    let made = create(&merchant.api, &draft::withdrawal_ars(100), &key).await;
    made.ok();
    assert_eq!(made.header("Idempotent-Replayed"), None);
    gateway.check();
}

/// A version 1 creation under a key.
pub(super) async fn create(caller: &Client, body: &Value, key: &str) -> Answer {
    caller.post_with(PAYMENTS, body, &[("Idempotency-Key", key)]).await
}

#[track_caller]
pub(super) fn assert_replayed(answer: &Answer, first: &Answer) {
    assert_eq!(answer.header("Idempotent-Replayed"), Some("true"), "{} {}", answer.status, answer.text);
    assert_eq!((answer.status, &answer.text), (first.status, &first.text));
}
