//! Parked receipts and what becomes of them.

use quipu_tests::{Database, Gateway, Setup, draft, on_both_databases, provider::Provider};
use serde_json::{Value, json};

use super::{merchant_on, seen};

on_both_databases!(a_person_accepts_what_arrived, a_person_ignores_a_receipt, a_receipt_is_resolved_once);

/// A gateway with a provider, and a deposit of 1,000 for which 400 arrived.
pub(super) async fn short(database: Database) -> (Gateway, Provider, quipu_tests::Merchant, String, Value) {
    let provider = Provider::start().await;
    let gateway = provider.configure(Setup::new(database)).start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    merchant
        .edit_routes(|route| {
            route["fee_bps"] = json!(1_000);
        })
        .await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    let mut event = provider.event("payment.completed", &id);
    event["amount"] = json!(400);
    assert_eq!(provider.call_back(&gateway.anonymous(), &event).await.data()["outcome"], "parked");
    let listed = gateway.operator().get("/operator/v1/receipts?status=parked").await.ok();
    assert_eq!(listed["total"], 1, "{listed}");
    let receipt = listed["data"][0].clone();
    (gateway, provider, merchant, id, receipt)
}

pub(super) fn resolve(receipt: &Value) -> String {
    format!("/operator/v1/receipts/{}/resolve", receipt["receipt_id"].as_str().expect("an id"))
}

async fn a_person_accepts_what_arrived(database: Database) {
    let (gateway, _provider, merchant, id, receipt) = short(database).await;
    assert_eq!((&receipt["reason"], &receipt["payment_id"]), (&json!("amount_mismatch"), &json!(id)));
    let body = json!({ "action": "complete_with_received_amount" });
    let resolved = gateway.operator().post(&resolve(&receipt), &body).await.data();
    assert_eq!((&resolved["status"], &resolved["resolution"]), (&json!("resolved"), &body["action"]));
    let record = merchant.api.payment(&id).await;
    assert_eq!((&record["status"], &record["amount"]), (&json!("completed"), &json!(1_000)));
    assert_eq!((&record["received_amount"], &record["fee"]), (&json!(400), &json!(40)));
    assert_eq!(record["net_amount"], 360);
    assert_eq!(merchant.balance("MXN").await, (360, 0));
    let path = format!("/operator/v1/payments/{id}/refunds");
    let over = gateway.operator().post(&path, &json!({ "amount": 401 })).await;
    over.refused(400, "REFUND_EXCEEDS_PAYMENT");
    let view = seen(&gateway, &id).await;
    assert_eq!(view["timeline"]["audit"][0]["action"], "receipt.resolve");
    let listed = gateway.operator().get("/operator/v1/receipts").await.ok();
    assert_eq!(view["timeline"]["receipts"], json!([listed["data"][0]]));
    assert_eq!(view["timeline"]["receipts"][0]["resolution"], body["action"]);
    gateway.check();
}

async fn a_person_ignores_a_receipt(database: Database) {
    let (gateway, _provider, merchant, id, receipt) = short(database).await;
    let body = json!({ "action": "ignore" });
    gateway.operator().post(&resolve(&receipt), &body).await.data();
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    assert_eq!(gateway.operator().get("/operator/v1/receipts?status=parked").await.ok()["total"], 0);
    gateway.check();
}

async fn a_receipt_is_resolved_once(database: Database) {
    let (gateway, _provider, merchant, _, receipt) = short(database).await;
    let body = json!({ "action": "complete_with_received_amount" });
    let calls = (0..10).map(|_| {
        let (operator, path, body) = (gateway.operator(), resolve(&receipt), body.clone());
        async move { operator.post(&path, &body).await.status }
    });
    let statuses = futures_util::future::join_all(calls).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(merchant.balance("MXN").await, (360, 0));
    gateway.operator().post(&resolve(&receipt), &json!({ "action": "burn" })).await.invalid("action");
    let gone = "/operator/v1/receipts/none/resolve";
    gateway.operator().post(gone, &body).await.refused(404, "RECEIPT_NOT_FOUND");
    gateway.check();
}
