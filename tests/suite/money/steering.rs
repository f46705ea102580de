//! The simulator's steering words beyond the plain ones.

use quipu_tests::{
    Database, Gateway,
    draft::{self, steered},
    eventually, on_both_databases,
};
use serde_json::{Value, json};

use super::{events, seen};

on_both_databases!(
    an_unknown_creation_is_found_completed,
    an_unknown_creation_under_a_key_is_answered_alike_until_it_is_known,
    an_unknown_submission_is_found_completed,
    a_payout_comes_back,
    what_is_told_twice_or_in_the_wrong_order_counts_once,
    a_short_payment_waits_for_a_person,
);

async fn an_unknown_creation_is_found_completed(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let answer = merchant.api.create(&steered(draft::deposit_mxn(1_000), "timeout")).await;
    let refused = answer.refused(504, "payment_create_outcome_unknown");
    let id = refused["transaction_id"].as_str().expect("a transaction_id").to_owned();
    let record = merchant.wait_for(&id, "completed").await;
    assert_eq!(record["status_version"], 2);
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    gateway.check();
}

async fn an_unknown_creation_under_a_key_is_answered_alike_until_it_is_known(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let draft = steered(draft::deposit_mxn(1_000), "timeout");
    let key = [("Idempotency-Key", "one")];
    let first = merchant.api.post_with("/api/v1/payments", &draft, &key).await;
    let id = first.refused(504, "payment_create_outcome_unknown")["transaction_id"].clone();
    let known = eventually("the outcome to be known", async || {
        let again = merchant.api.post_with("/api/v1/payments", &draft, &key).await;
        assert_eq!(again.header("Idempotent-Replayed"), Some("true"), "{again}");
        assert_eq!(again.json()["transaction_id"], id, "{again}");
        if again.status == 504 {
            return None;
        }
        Some(again)
    })
    .await;
    assert_eq!(known.ok()["status"], "completed");
    let again = merchant.api.post_with("/api/v1/payments", &draft, &key).await;
    assert_eq!(again.text, known.text, "from then on byte for byte");
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

async fn an_unknown_submission_is_found_completed(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&steered(draft::withdrawal_ars(400), "timeout")).await;
    let record = merchant.wait_for(&id, "completed").await;
    assert_eq!(record["status_version"], 3);
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    gateway.check();
}

async fn a_payout_comes_back(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&steered(draft::withdrawal_ars(400), "return")).await;
    let record = merchant.wait_for(&id, "refunded").await;
    assert_eq!(
        (&record["failure"]["code"], &record["refunded_amount"]),
        (&json!("PAYOUT_RETURNED"), &json!(400))
    );
    assert_eq!(record["status_version"], 4, "pending, processing, completed, refunded");
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    assert_eq!(merchant.balance_of("ARS", "withdrawal").await, 0);
    let view = seen(&gateway, &id).await;
    assert_eq!((events(&view, "payout.completed"), events(&view, "payout.failed")), (1, 1));
    gateway.check();
}

async fn what_is_told_twice_or_in_the_wrong_order_counts_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    for word in ["duplicate", "reorder"] {
        let deposit = merchant.create(&steered(draft::deposit_mxn(500), word)).await;
        let withdrawal = merchant.create(&steered(draft::withdrawal_ars(100), word)).await;
        for (id, version) in [(deposit, 2), (withdrawal, 3)] {
            let record = merchant.wait_for(&id, "completed").await;
            assert_eq!(record["status_version"], version, "{word}");
            assert_eq!(events(&seen(&gateway, &id).await, "payment.completed"), 1, "{word}");
        }
    }
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    assert_eq!(merchant.balance("ARS").await, (800, 0));
    gateway.check();
}

async fn a_short_payment_waits_for_a_person(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit_mxn(1_000), "short")).await;
    let receipt = eventually("the receipt to be parked", async || {
        let listed = gateway.operator().get(&format!("/operator/v1/receipts?payment_id={id}")).await.ok();
        listed["data"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!((&receipt["reason"], &receipt["amount"]), (&json!("amount_mismatch"), &json!(500)));
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    assert_eq!(merchant.api.payment(&id).await["received_amount"], Value::Null);
    assert_eq!(merchant.balance("MXN").await, (0, 0));
    gateway.check();
}
