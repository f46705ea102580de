//! What time alone does to payments.

use quipu_tests::{
    Database, Setup,
    draft::{self, steered},
    eventually, on_both_databases,
};
use serde_json::Value;

use super::{events, seen};

on_both_databases!(an_unresolved_redirect_is_alerted_and_then_cancelled, a_resolved_redirect_raises_no_alert);

async fn an_unresolved_redirect_is_alerted_and_then_cancelled(database: Database) {
    let setup =
        Setup::new(database).set("REDIRECTPAY__ALERT_AFTER", "300ms").set("REDIRECTPAY__CANCEL_AFTER", "2s");
    let gateway = setup.start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit("LKR", "redirectpay", 500), "stay")).await;
    let alerted = eventually("the alert", async || {
        let view = seen(&gateway, &id).await;
        view["alerted_at"].is_string().then_some(view)
    })
    .await;
    assert_eq!(alerted["status"], "processing", "an alert changes nothing");
    let line = gateway.log();
    assert!(line.lines().any(|line| line.contains("still unresolved") && line.contains(&id)), "{line}");
    let record = merchant.wait_for(&id, "cancelled").await;
    assert_eq!(record["status_version"], 2);
    assert_eq!(events(&seen(&gateway, &id).await, "payment.cancelled"), 1);
    let complete = format!("/operator/v1/payments/{id}/complete");
    assert_eq!(gateway.operator().post_empty(&complete).await.data()["late"], true);
    gateway.check();
}

async fn a_resolved_redirect_raises_no_alert(database: Database) {
    let setup = Setup::new(database).set("SIMULATOR__DELAY", "50ms").set("REDIRECTPAY__ALERT_AFTER", "1s");
    let gateway = setup.start().await;
    let merchant = gateway.merchant().await;
    let quick = merchant.create(&draft::deposit("LKR", "redirectpay", 500)).await;
    merchant.wait_for(&quick, "completed").await;
    // Whatever was due for it was due before this later one's.
    let slow = merchant.create(&steered(draft::deposit("LKR", "redirectpay", 500), "stay")).await;
    eventually("the later alert", async || seen(&gateway, &slow).await["alerted_at"].as_str().map(drop))
        .await;
    assert_eq!(seen(&gateway, &quick).await["alerted_at"], Value::Null);
}
