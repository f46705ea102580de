//! `Idempotency-Key` on creations (decisions on payments).

use quipu_tests::{Answer, Client, Database, Gateway, Setup, draft, on_both_databases};
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_both_databases!(
    a_repeat_gets_the_first_answer_byte_for_byte,
    another_body_under_the_same_key_is_a_mismatch,
    business_refusals_are_kept_and_validation_is_not,
    twenty_at_once_create_one_payment,
    keys_belong_to_a_merchant_and_an_environment,
    the_key_itself_is_checked,
    a_kept_answer_survives_a_kill,
);

async fn create(client: &Client, draft: &Value, key: &str) -> Answer {
    client.post_with("/api/v1/payments", draft, &[("Idempotency-Key", key)]).await
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("Idempotent-Replayed") == Some("true")
}

async fn a_repeat_gets_the_first_answer_byte_for_byte(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let hosted = draft::with(draft::deposit_mxn(100), "/type", json!("deposit_pp"));
    for draft in [draft::withdrawal_ars(400), draft::deposit_mxn(100), hosted] {
        let key = draft::reference();
        let first = create(&merchant.api, &draft, &key).await;
        let id = first.ok()["transaction_id"].as_str().expect("a string").to_owned();
        assert!(!is_replay(&first));
        // Even when the payment has moved on, the answer is the first one.
        merchant.wait_for(&id, "completed").await;
        let again = create(&merchant.api, &draft, &key).await;
        assert_eq!((again.status, &again.text), (200, &first.text));
        assert!(is_replay(&again));
    }
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    // Version 2 creates under the same rule.
    let (v2, draft, key) = (gateway.v2(), draft::deposit_mxn(100), draft::reference());
    let path = "/api/v2/payments";
    let first = v2.post_with(path, &draft, &[("Idempotency-Key", &key)]).await;
    first.ok();
    let again = v2.post_with(path, &draft, &[("Idempotency-Key", &key)]).await;
    assert_eq!((&again.text, is_replay(&again)), (&first.text, true));
    gateway.check();
}

async fn another_body_under_the_same_key_is_a_mismatch(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (draft, key) = (draft::deposit_mxn(100), draft::reference());
    create(&merchant.api, &draft, &key).await.ok();
    create(&merchant.api, &draft::deposit_mxn(100), &key).await.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
    // Other bytes are another body, even where they mean the same.
    let spaced = format!(" {draft}").into_bytes();
    let answer = merchant
        .api
        .send(reqwest::Method::POST, "/api/v1/payments", Some(spaced), &[("Idempotency-Key", &key)])
        .await;
    answer.refused(422, "IDEMPOTENCY_KEY_MISMATCH");
}

async fn business_refusals_are_kept_and_validation_is_not(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (draft, key) = (draft::withdrawal_ars(400), draft::reference());
    let first = create(&merchant.api, &draft, &key).await;
    first.refused(400, "INSUFFICIENT_BALANCE");
    merchant.fund("ARS", 1_000).await;
    let again = create(&merchant.api, &draft, &key).await;
    assert_eq!((again.status, &again.text, is_replay(&again)), (400, &first.text, true));

    let taken = draft::deposit_mxn(100);
    merchant.create(&taken).await;
    let key = draft::reference();
    let first = create(&merchant.api, &taken, &key).await;
    first.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
    let again = create(&merchant.api, &taken, &key).await;
    assert_eq!((again.status, &again.text, is_replay(&again)), (409, &first.text, true));

    let key = draft::reference();
    create(&merchant.api, &json!({}), &key).await.refused(400, "VALIDATION_FAILED");
    // The mended request may use the key of the malformed one.
    let mended = create(&merchant.api, &draft::deposit_mxn(100), &key).await;
    mended.ok();
    assert!(!is_replay(&mended));
}

async fn twenty_at_once_create_one_payment(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let (draft, key) = (draft::withdrawal_ars(100), draft::reference());
    let mut creations = JoinSet::new();
    for _ in 0..20 {
        let (api, draft, key) = (merchant.api.clone(), draft.clone(), key.clone());
        creations.spawn(async move { create(&api, &draft, &key).await });
    }
    let mut bodies = Vec::new();
    for answer in creations.join_all().await {
        if answer.status == 200 {
            bodies.push(answer.text);
        } else {
            answer.refused(409, "IDEMPOTENCY_KEY_IN_USE");
        }
    }
    assert!(!bodies.is_empty());
    assert!(bodies.iter().all(|body| *body == bodies[0]), "answers differ");
    assert_eq!(merchant.balance("ARS").await, (900, 100));
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

async fn keys_belong_to_a_merchant_and_an_environment(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    let (draft, key) = (draft::deposit_mxn(100), draft::reference());
    let own = create(&merchant.api, &draft, &key).await.ok();
    let foreign = create(&stranger.api, &draft, &key).await;
    assert!(!is_replay(&foreign));
    assert_ne!(foreign.ok()["transaction_id"], own["transaction_id"]);
    let live = merchant.key(&json!({ "environment": "live" })).await;
    create(&live, &draft, &key).await.refused(400, "CURRENCY_NOT_ENABLED");
    // Another key of the same merchant and environment shares them.
    let second = merchant.key(&json!({})).await;
    assert!(is_replay(&create(&second, &draft, &key).await));
}

async fn the_key_itself_is_checked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for key in ["", &"k".repeat(256), "tab\tkey", "käse"] {
        let answer = create(&merchant.api, &draft::deposit_mxn(100), key).await;
        assert_eq!(answer.status, 400, "{key:?}: {answer}");
    }
    create(&merchant.api, &draft::deposit_mxn(100), &"k".repeat(255)).await.ok();
    create(&merchant.api, &draft::deposit_mxn(100), "a key ~ with !").await.ok();
}

async fn a_kept_answer_survives_a_kill(database: Database) {
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    let (draft, key) = (draft::deposit_mxn(100), draft::reference());
    let first = create(&merchant.api, &draft, &key).await;
    first.ok();
    gateway.kill();
    gateway.restart().await;
    let again = create(&merchant.moved_to(&gateway).api, &draft, &key).await;
    assert_eq!((again.status, is_replay(&again)), (200, true), "{again}");
    assert_eq!(again.json()["transaction_id"], first.json()["transaction_id"]);
}
