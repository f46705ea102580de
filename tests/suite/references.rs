//! The merchant's own reference: unique, except after a payment that came to nothing.

use quipu_tests::{
    Database, Gateway,
    draft::{self, steered, with},
    on_both_databases,
};
use serde_json::json;

on_both_databases!(
    a_reference_in_use_is_refused,
    failed_expired_and_cancelled_free_the_reference,
    what_completes_late_does_not_take_its_reference_back,
    merchants_and_environments_do_not_share_references,
);

async fn a_reference_in_use_is_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let drafts = [
        (steered(draft::deposit_mxn(100), "stay"), "processing"),
        (draft::deposit_mxn(100), "completed"),
        (steered(draft::withdrawal_ars(100), "hold"), "pending"),
        (draft::withdrawal_ars(100), "completed"),
    ];
    for (draft, status) in drafts {
        let id = merchant.create(&draft).await;
        merchant.wait_for(&id, status).await;
        let balance = merchant.balance("ARS").await;
        let again =
            with(draft::withdrawal_ars(100), "/merchant_reference", draft["merchant_reference"].clone());
        let refusal = merchant.api.create(&again).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
        assert_eq!(refusal["transaction_id"], id, "{status}");
        assert_eq!(merchant.balance("ARS").await, balance, "a refused payment freezes nothing");
    }
    // A deposit of which something went back to the payer keeps its reference.
    let draft = draft::deposit_mxn(100);
    let id = merchant.create(&draft).await;
    merchant.wait_for(&id, "completed").await;
    let refunds = format!("/operator/v1/payments/{id}/refunds");
    for (amount, status) in [(40, "partial_refund"), (60, "refunded")] {
        let refunded = gateway.operator().post(&refunds, &json!({ "amount": amount })).await.data();
        assert_eq!(refunded["status"], status);
        let again = with(draft::deposit_mxn(100), "/merchant_reference", draft["merchant_reference"].clone());
        let refusal = merchant.api.create(&again).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
        assert_eq!(refusal["transaction_id"], id, "{status}");
    }
    // References are compared as they are written.
    let draft = draft::deposit_mxn(100);
    merchant.create(&draft).await;
    let capitals = draft["merchant_reference"].as_str().expect("a string").to_uppercase();
    merchant.create(&with(draft, "/merchant_reference", json!(capitals))).await;
}

async fn failed_expired_and_cancelled_free_the_reference(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let reference = json!(draft::reference());
    let named = |draft| with(draft, "/merchant_reference", reference.clone());
    for (draft, status) in [
        (steered(draft::deposit_mxn(100), "fail"), "failed"),
        (steered(draft::withdrawal_ars(100), "fail"), "failed"),
        (steered(draft::deposit_mxn(100), "expire"), "expired"),
    ] {
        let id = merchant.create(&named(draft)).await;
        merchant.wait_for(&id, status).await;
    }
    let id = merchant.create(&named(steered(draft::withdrawal_ars(100), "hold"))).await;
    merchant.api.post_empty(&format!("/api/v1/payments/{id}/cancel")).await.data();
    merchant.create(&named(draft::deposit_mxn(100))).await;
    merchant.api.create(&named(draft::deposit_mxn(100))).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
    let path = format!("/api/v1/payments?merchant_reference={}", reference.as_str().expect("a string"));
    assert_eq!(merchant.api.get(&path).await.ok()["total"], 5);
}

async fn what_completes_late_does_not_take_its_reference_back(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let reference = json!(draft::reference());
    let named = |instruction| {
        with(steered(draft::deposit_mxn(100), instruction), "/merchant_reference", reference.clone())
    };
    let decide = async |id: &str, verb: &str| {
        let path = format!("/operator/v1/payments/{id}/{verb}");
        gateway.operator().post(&path, &json!({ "reason": "as the bank says" })).await.data()
    };
    let first = merchant.create(&named("expire")).await;
    merchant.wait_for(&first, "expired").await;
    let second = merchant.create(&named("stay")).await;
    let late = decide(&first, "complete").await;
    assert_eq!((&late["status"], &late["late"]), (&json!("completed"), &json!(true)));
    let completed = merchant.api.payment(&first).await;
    assert_eq!(completed["merchant_reference"], reference);

    let refusal = merchant.api.create(&named("stay")).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
    assert_eq!(refusal["transaction_id"], second);
    assert_eq!(decide(&second, "fail").await["status"], "failed");
    let third = merchant.create(&named("stay")).await;
    let refusal = merchant.api.create(&named("stay")).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
    assert_eq!(refusal["transaction_id"], third);
    assert_eq!(merchant.api.payment(&first).await, completed);
    gateway.check();
}

async fn merchants_and_environments_do_not_share_references(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    let draft = draft::deposit_mxn(100);
    merchant.create(&draft).await;
    stranger.create(&draft).await;
    merchant
        .add_routes([json!({ "environment": "live", "currency": "MXN", "method": "spei", "direction": "deposit",
            "partner": false, "enabled": true, "rail": "manual", "min_amount": 1,
            "instructions": { "bank_name": "Banco", "account_holder": "Quipu", "account_number": "032180000118359719" } })])
        .await;
    let live = merchant.key(&json!({ "environment": "live" })).await;
    let answer = live.create(&draft).await.ok();
    assert_eq!(answer["bank_details"]["account_number"], "032180000118359719");
}
