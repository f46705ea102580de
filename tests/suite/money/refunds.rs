//! Refunds.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::json;

use super::{events, seen};

on_both_databases!(
    parts_add_up_to_the_whole_and_no_further,
    of_many_refunds_at_once_only_what_was_paid_goes_back,
    a_refund_needs_the_money,
    only_completed_deposits_are_refunded,
    a_refund_names_its_ticket_and_is_seen_from_there,
);

async fn parts_add_up_to_the_whole_and_no_further(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "completed").await;
    let path = format!("/operator/v1/payments/{id}/refunds");
    let refund = async |amount: i64| {
        gateway.operator().post(&path, &json!({ "amount": amount, "reason": "r", "ticket_id": "t-1" })).await
    };
    let first = refund(300).await.data();
    assert_eq!((&first["status"], &first["status_version"]), (&json!("partial_refund"), &json!(3)));
    let second = refund(300).await.data();
    assert_eq!((&second["status"], &second["status_version"]), (&json!("partial_refund"), &json!(4)));
    refund(401).await.refused(400, "REFUND_EXCEEDS_PAYMENT");
    for amount in [0, -1] {
        refund(amount).await.invalid("amount");
    }
    let last = refund(400).await.data();
    assert_eq!((&last["status"], &last["refunded_amount"]), (&json!("refunded"), &json!(1_000)));
    refund(1).await.refused(400, "REFUND_EXCEEDS_PAYMENT");
    assert_eq!(merchant.balance("MXN").await, (0, 0));
    assert_eq!(merchant.balance_of("MXN", "deposit").await, 0);
    let listed = gateway.operator().get(&path).await.ok();
    assert_eq!(listed["total"], 3);
    assert_eq!((&listed["data"][0]["amount"], &listed["data"][0]["ticket_id"]), (&json!(300), &json!("t-1")));
    let view = seen(&gateway, &id).await;
    assert_eq!(events(&view, "payment.refunded"), 3);
    assert_eq!(view["timeline"]["refunds"].as_array().map(Vec::len), Some(3));
    gateway.check();
}

async fn a_refund_names_its_ticket_and_is_seen_from_there(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "completed").await;
    let asked = json!({
        "title": "Refund", "category": "refund_request", "payment_id": id, "requires_refund": true,
    });
    let ticket = merchant.api.post("/api/v1/tickets", &asked).await.json()["data"]["ticket_id"].clone();
    let ticket = ticket.as_str().expect("a ticket");
    let path = format!("/operator/v1/payments/{id}/refunds");
    operator.post(&path, &json!({ "amount": 300, "ticket_id": ticket })).await.data();
    let of_payment = operator.get(&path).await.data();
    assert_eq!((&of_payment[0]["amount"], &of_payment[0]["ticket_id"]), (&json!(300), &json!(ticket)));
    let of_ticket = operator.get(&format!("/operator/v1/tickets/{ticket}")).await.data();
    let refund = &of_ticket["payment"]["timeline"]["refunds"][0];
    assert_eq!((&refund["amount"], &refund["ticket_id"]), (&json!(300), &json!(ticket)), "{of_ticket}");
    // The merchant sees the money go, and nothing of who decided.
    let seen = merchant.api.get(&format!("/api/v1/tickets/{ticket}")).await.data();
    assert_eq!(seen["payment"], json!(null), "{seen}");
    assert_eq!(merchant.api.payment(&id).await["refunded_amount"], 300);
}

async fn of_many_refunds_at_once_only_what_was_paid_goes_back(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 10_000).await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    let path = format!("/operator/v1/payments/{id}/refunds");
    let refunds = (0..20).map(|_| {
        let (operator, path) = (gateway.operator(), path.clone());
        async move { operator.post(&path, &json!({ "amount": 60 })).await.status }
    });
    let mut statuses = futures_util::future::join_all(refunds).await;
    statuses.sort_unstable();
    assert_eq!((statuses[0], statuses[1]), (200, 400), "one succeeds: {statuses:?}");
    assert_eq!(merchant.balance("MXN").await, (10_040, 0));
    assert_eq!(gateway.operator().get(&path).await.ok()["total"], 1);
    gateway.check();
}

async fn a_refund_needs_the_money(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "completed").await;
    merchant.fund("MXN", -600).await;
    let path = format!("/operator/v1/payments/{id}/refunds");
    let key = [("Idempotency-Key", "refund-1")];
    let refund = async || gateway.operator().post_with(&path, &json!({ "amount": 500 }), &key).await;
    refund().await.refused(400, "INSUFFICIENT_BALANCE");
    merchant.fund("MXN", 600).await;
    refund().await.refused(400, "INSUFFICIENT_BALANCE");
    let fresh = gateway.operator().post(&path, &json!({ "amount": 500 })).await.data();
    assert_eq!(fresh["payment"]["net_amount"], 1_000);
    assert_eq!(merchant.balance("MXN").await, (500, 0));
    gateway.check();
}

async fn only_completed_deposits_are_refunded(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let waiting = merchant.create(&draft::steered(draft::deposit_mxn(100), "stay")).await;
    let paid_out = merchant.create(&draft::withdrawal_ars(100)).await;
    merchant.wait_for(&paid_out, "completed").await;
    for id in [waiting, paid_out] {
        let path = format!("/operator/v1/payments/{id}/refunds");
        let answer = gateway.operator().post(&path, &json!({ "amount": 1 })).await;
        answer.refused(400, "INVALID_STATUS_TRANSITION");
    }
}
