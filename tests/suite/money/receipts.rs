//! Parked receipts and what becomes of them.

use std::time::Duration;

use quipu_tests::{Database, Gateway, Setup, draft, on_both_databases, provider::Provider};
use serde_json::{Value, json};

use super::{merchant_on, seen};

on_both_databases!(
    a_person_accepts_what_arrived,
    a_person_ignores_a_receipt,
    a_receipt_is_resolved_once,
    the_list_is_narrowed_and_paged,
);

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

async fn the_list_is_narrowed_and_paged(database: Database) {
    let (gateway, provider, one, _, _) = short(database).await;
    let two = merchant_on(&gateway, &provider).await;
    for merchant in [&two, &one, &two] {
        let id = merchant.create(&draft::deposit_mxn(1_000)).await;
        let mut event = provider.event("payment.completed", &id);
        event["amount"] = json!(400);
        assert_eq!(provider.call_back(&gateway.anonymous(), &event).await.data()["outcome"], "parked");
        // Those of one millisecond stand in any order.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let list =
        async |query: &str| gateway.operator().get(&format!("/operator/v1/receipts?{query}")).await.ok();
    let all = list("").await["data"].as_array().expect("a list").clone();
    let [d, c, b, a] = <[Value; 4]>::try_from(all).expect("four, newest first");
    gateway.operator().post(&resolve(&c), &json!({ "action": "ignore" })).await.data();
    let at = |receipt: &Value| receipt["created_at"].as_str().expect("a time").to_owned();
    let (of_one, of_two) = (format!("merchant_id={}", one.id), format!("merchant_id={}", two.id));
    for (query, total, expected) in [
        (of_one.clone(), 2, vec![&c, &a]),
        (of_two.clone(), 2, vec![&d, &b]),
        (format!("{of_one}&status=resolved"), 1, vec![&c]),
        (format!("{of_one}&status=parked"), 1, vec![&a]),
        (format!("{of_two}&status=resolved"), 0, vec![]),
        ("status=parked".to_owned(), 3, vec![&d, &b, &a]),
        (format!("created_at_from={}&created_at_to={}", at(&b), at(&c)), 2, vec![&c, &b]),
        (format!("{of_two}&created_at_from={}", at(&c)), 1, vec![&d]),
        (format!("{of_two}&created_at_to={}", at(&c)), 1, vec![&b]),
        (format!("payment_id={}", b["payment_id"].as_str().expect("an id")), 1, vec![&b]),
        ("limit=2".to_owned(), 4, vec![&d, &c]),
        ("limit=2&offset=3".to_owned(), 4, vec![&a]),
        (format!("{of_two}&limit=1&offset=1"), 2, vec![&b]),
    ] {
        let listed = list(&query).await;
        let ids = listed["data"].as_array().expect("a list").iter().map(|it| &it["receipt_id"]);
        let expected: Vec<_> = expected.into_iter().map(|it| &it["receipt_id"]).collect();
        assert_eq!((ids.collect::<Vec<_>>(), &listed["total"]), (expected, &json!(total)), "{query}");
    }
}
