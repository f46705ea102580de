//! Cancelling, and losing the race for it.

use std::{collections::BTreeMap, time::Duration};

use quipu_tests::{Database, Gateway, Merchant, Setup, Table, draft, on_both_databases};
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_both_databases!(
    a_pending_withdrawal_is_cancelled_once,
    nothing_else_can_be_cancelled,
    of_many_cancels_exactly_one_wins,
    cancel_and_submission_have_one_winner,
    a_reason_is_checked,
    the_reason_is_kept_as_the_failure,
);

async fn cancel(merchant: &Merchant, id: &str) -> quipu_tests::Answer {
    merchant.api.post_empty(&format!("/api/v1/payments/{id}/cancel")).await
}

async fn a_pending_withdrawal_is_cancelled_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::steered(draft::withdrawal_ars(400), "hold")).await;
    assert_eq!(merchant.balance("ARS").await, (600, 400));
    let payment = cancel(&merchant, &id).await.data();
    assert_eq!((&payment["status"], &payment["status_version"]), (&json!("cancelled"), &json!(2)));
    assert_eq!(payment, merchant.api.payment(&id).await);
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    cancel(&merchant, &id).await.refused(400, "PAYMENT_ALREADY_PROCESSED");
    gateway.check();
}

/// Waits for this status; a cancel is then refused and changes nothing.
async fn refuse_cancel(table: &mut Table, merchant: &Merchant, id: &str, status: &str) {
    let before = merchant.wait_for(id, status).await;
    table.refused(status, &cancel(merchant, id).await, 400, "PAYMENT_ALREADY_PROCESSED");
    assert_eq!(merchant.api.payment(id).await, before, "a refused cancel changes nothing");
}

async fn nothing_else_can_be_cancelled(database: Database) {
    let setup = Setup::new(database).set("REDIRECTPAY__ALERT_AFTER", "100ms");
    let gateway = setup.set("REDIRECTPAY__CANCEL_AFTER", "300ms").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let cases = [
        (draft::steered(draft::deposit_mxn(100), "stay"), "processing"),
        (draft::deposit_mxn(100), "completed"),
        (draft::steered(draft::deposit_mxn(100), "fail"), "failed"),
        (draft::steered(draft::deposit_mxn(100), "expire"), "expired"),
        (draft::steered(draft::withdrawal_ars(100), "stay"), "processing"),
        (draft::withdrawal_ars(100), "completed"),
        (draft::steered(draft::withdrawal_ars(100), "fail"), "failed"),
        (draft::steered(draft::deposit("LKR", "redirectpay", 100), "stay"), "cancelled"),
    ];
    let mut table = Table::new();
    for (draft, status) in cases {
        let id = merchant.create(&draft).await;
        refuse_cancel(&mut table, &merchant, &id, status).await;
    }
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    let refunds = format!("/operator/v1/payments/{id}/refunds");
    for (amount, status) in [(40, "partial_refund"), (60, "refunded")] {
        gateway.operator().post(&refunds, &json!({ "amount": amount })).await.data();
        refuse_cancel(&mut table, &merchant, &id, status).await;
    }
    for id in ["pay_1763683200000_abcdefghjkmn", "pay_1", "x", "%00", "pay_1763683200000_ABCDEFGHJKMN"] {
        table.refused(id, &cancel(&merchant, id).await, 404, "PAYMENT_NOT_FOUND");
    }
    table.finish();
}

async fn of_many_cancels_exactly_one_wins(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::steered(draft::withdrawal_ars(400), "hold")).await;
    let mut cancels = JoinSet::new();
    for _ in 0..20 {
        let (merchant, id) = (merchant.clone(), id.clone());
        cancels.spawn(async move { cancel(&merchant, &id).await });
    }
    let (won, lost): (Vec<_>, Vec<_>) =
        cancels.join_all().await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.refused(400, "PAYMENT_ALREADY_PROCESSED");
    }
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn cancel_and_submission_have_one_winner(database: Database) {
    const PAYMENTS: i64 = 40;
    // Some cancels come long before the submission is due, some long after it, and some meet the worker.
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "500ms").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", PAYMENTS * 100).await;
    let mut races = JoinSet::new();
    for number in 0..PAYMENTS {
        let (merchant, hesitation) = (merchant.clone(), Duration::from_millis(40 * number.unsigned_abs()));
        races.spawn(async move {
            let id = merchant.create(&draft::withdrawal_ars(100)).await;
            tokio::time::sleep(hesitation).await;
            let answer = cancel(&merchant, &id).await;
            if answer.status != 200 {
                answer.refused(400, "PAYMENT_ALREADY_PROCESSED");
            }
            (id, answer.status == 200)
        });
    }
    let outcomes: BTreeMap<String, bool> = races.join_all().await.into_iter().collect();
    let mut cancelled = 0;
    for (id, was_cancelled) in &outcomes {
        let status = if *was_cancelled { "cancelled" } else { "completed" };
        merchant.wait_for(id, status).await;
        cancelled += i64::from(*was_cancelled);
    }
    assert!((1..PAYMENTS).contains(&cancelled), "each has won sometimes: {cancelled}");
    assert_eq!(merchant.balance("ARS").await, (cancelled * 100, 0));
    gateway.check();
}

async fn a_reason_is_checked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::steered(draft::withdrawal_ars(100), "hold")).await;
    let path = format!("/api/v1/payments/{id}/cancel");
    for reason in [json!("r".repeat(501)), json!(5), json!({})] {
        merchant.api.post(&path, &json!({ "reason": reason })).await.invalid("reason");
    }
    merchant.api.post_bytes(&path, "{").await.refused(400, "VALIDATION_FAILED");
    assert_eq!(merchant.api.payment(&id).await["status"], "pending");
    let reason: Value = json!({ "reason": "r".repeat(500) });
    assert_eq!(merchant.api.post(&path, &reason).await.data()["status"], "cancelled");
}

async fn the_reason_is_kept_as_the_failure(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let told = json!({ "code": "CANCELLED", "message": "the customer\nchanged their mind" });
    for (body, failure) in [
        (json!({ "reason": told["message"], "unknown": "ignored" }), told),
        (json!({ "reason": null }), Value::Null),
        (json!({ "reason": " " }), Value::Null),
        (json!({}), Value::Null),
    ] {
        let id = merchant.create(&draft::steered(draft::withdrawal_ars(100), "hold")).await;
        let payment = merchant.api.post(&format!("/api/v1/payments/{id}/cancel"), &body).await.data();
        assert_eq!((&payment["status"], &payment["failure"]), (&json!("cancelled"), &failure), "{body}");
        assert_eq!(merchant.api.payment(&id).await, payment);
    }
    // A hosted withdrawal can be cancelled while its recipient is still unknown.
    let open = draft::without(draft::withdrawal_ars(100), "/payout");
    let id = merchant.create(&draft::with(open, "/type", json!("withdrawal_pp"))).await;
    assert_eq!(cancel(&merchant, &id).await.data()["status"], "cancelled");
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
}
