//! Decisions of a person, on every rail.

use quipu_tests::{
    Database, Gateway,
    draft::{self, steered},
    on_both_databases,
};
use serde_json::json;

use super::{events, seen};

on_both_databases!(
    a_person_takes_a_withdrawal_through_its_life,
    completing_a_pending_withdrawal_is_both_steps_in_one,
    late_money_is_credited_and_marked,
    a_person_fails_payments,
    what_the_table_does_not_know_is_refused_and_changes_nothing,
    staff_find_payments_of_every_merchant,
);

async fn a_person_takes_a_withdrawal_through_its_life(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&steered(draft::withdrawal_ars(400), "hold")).await;
    let post = |verb: &str, body| {
        let (operator, path) = (gateway.operator(), format!("/operator/v1/payments/{id}/{verb}"));
        async move { operator.post(&path, &body).await }
    };
    let submitted = post("submit", json!({ "rail_reference": "bank-7" })).await.data();
    assert_eq!((&submitted["status"], &submitted["status_version"]), (&json!("processing"), &json!(2)));
    let completed = post("complete", json!({})).await.data();
    assert_eq!(completed["status"], "completed");
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    let returned = post("return", json!({ "reason": "account closed" })).await.data();
    assert_eq!(returned["failure"], json!({ "code": "PAYOUT_RETURNED", "message": "account closed" }));
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    post("return", json!({})).await.refused(400, "INVALID_STATUS_TRANSITION");
    let view = seen(&gateway, &id).await;
    let audit = view["timeline"]["audit"].as_array().expect("audit lines");
    let actions: Vec<_> = audit.iter().map(|line| line["action"].as_str().expect("an action")).collect();
    assert_eq!(actions, ["payment.submit", "payment.complete", "payment.return"]);
    assert_eq!(audit[0]["after"]["rail_reference"], "bank-7");
    assert_eq!(view["timeline"]["entries"].as_array().map(Vec::len), Some(6), "{view}");
    assert_eq!((&view["merchant_id"], &view["rail"]), (&json!(merchant.id), &json!("simulator")));
    gateway.check();
}

async fn completing_a_pending_withdrawal_is_both_steps_in_one(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&steered(draft::withdrawal_ars(400), "hold")).await;
    let path = format!("/operator/v1/payments/{id}/complete");
    let completed = gateway.operator().post_empty(&path).await.data();
    assert_eq!((&completed["status"], &completed["status_version"]), (&json!("completed"), &json!(3)));
    let view = seen(&gateway, &id).await;
    assert_eq!((events(&view, "payment.processing"), events(&view, "payment.completed")), (1, 1));
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    gateway.check();
}

async fn late_money_is_credited_and_marked(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit_mxn(700), "expire")).await;
    merchant.wait_for(&id, "expired").await;
    let path = format!("/operator/v1/payments/{id}/complete");
    let completed =
        gateway.operator().post(&path, &json!({ "reason": "found on the statement" })).await.data();
    assert_eq!((&completed["status"], &completed["late"]), (&json!("completed"), &json!(true)));
    assert_eq!(completed["failure"], json!(null));
    assert_eq!(merchant.balance("MXN").await, (700, 0));
    gateway.check();
}

async fn a_person_fails_payments(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let deposit = merchant.create(&steered(draft::deposit_mxn(700), "stay")).await;
    let withdrawal = merchant.create(&steered(draft::withdrawal_ars(400), "hold")).await;
    for id in [&deposit, &withdrawal] {
        let path = format!("/operator/v1/payments/{id}/fail");
        let failed = gateway.operator().post(&path, &json!({ "reason": "fraud" })).await.data();
        assert_eq!((&failed["status"], &failed["failure"]["message"]), (&json!("failed"), &json!("fraud")));
    }
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn what_the_table_does_not_know_is_refused_and_changes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit_mxn(700), "stay")).await;
    for verb in ["submit", "return"] {
        let path = format!("/operator/v1/payments/{id}/{verb}");
        gateway.operator().post_empty(&path).await.refused(400, "INVALID_STATUS_TRANSITION");
    }
    let gone = "/operator/v1/payments/pay_1763683200000_222222222222/complete";
    gateway.operator().post_empty(gone).await.refused(404, "PAYMENT_NOT_FOUND");
    gateway.operator().get("/operator/v1/payments/none").await.refused(404, "PAYMENT_NOT_FOUND");
    let path = format!("/operator/v1/payments/{id}/complete");
    gateway.operator().post(&path, &json!({ "reason": 5 })).await.invalid("reason");
    assert_eq!(merchant.api.payment(&id).await["status_version"], 1);
}

async fn staff_find_payments_of_every_merchant(database: Database) {
    let gateway = Gateway::start(database).await;
    let (one, other) = (gateway.merchant().await, gateway.merchant().await);
    let mine = one.create(&steered(draft::deposit_mxn(100), "stay")).await;
    let theirs = other.create(&steered(draft::deposit("AUD", "payid", 200), "stay")).await;
    let found = async |query: &str| {
        let listed = gateway.operator().get(&format!("/operator/v1/payments?{query}")).await.ok();
        let ids = listed["data"].as_array().expect("a list").iter();
        let ids: Vec<_> = ids.map(|row| row["transaction_id"].as_str().expect("an id").to_owned()).collect();
        assert!(listed["total"].as_u64() >= Some(ids.len() as u64), "{listed}");
        ids
    };
    assert_eq!(found("limit=2").await, [theirs.clone(), mine.clone()]);
    assert_eq!(found(&format!("merchant_id={}", one.id)).await, std::slice::from_ref(&mine));
    assert_eq!(
        found("currency=AUD&method=payid&status=processing&type=deposit").await,
        std::slice::from_ref(&theirs)
    );
    assert_eq!(found(&format!("merchant_id={}&environment=live", one.id)).await, Vec::<String>::new());
    let reference = one.api.payment(&mine).await["merchant_reference"].as_str().expect("text").to_owned();
    assert_eq!(
        found(&format!("merchant_reference={reference}&rail=simulator")).await,
        std::slice::from_ref(&mine)
    );
    assert_eq!(found("created_at_to=2020-01-01").await, Vec::<String>::new());
    gateway.operator().get("/operator/v1/payments?status=lost").await.invalid("status");
}
