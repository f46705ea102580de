//! What time alone does to payments.

use quipu_tests::{
    Database, Setup,
    draft::{self, steered},
    eventually, on_both_databases,
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{events, seen};

on_both_databases!(
    an_unresolved_redirect_is_alerted_and_then_cancelled,
    a_resolved_redirect_raises_no_alert,
    what_expires_together_shares_commits,
);

async fn an_unresolved_redirect_is_alerted_and_then_cancelled(database: Database) {
    let setup =
        Setup::new(database).set("REDIRECTPAY__ALERT_AFTER", "300ms").set("REDIRECTPAY__CANCEL_AFTER", "8s");
    let gateway = setup.set("LOG__FORMAT", "json").start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit("LKR", "redirectpay", 500), "stay")).await;
    let alerted = eventually("the alert", async || {
        let view = seen(&gateway, &id).await;
        view["alerted_at"].is_string().then_some(view)
    })
    .await;
    assert_eq!(alerted["status"], "processing", "an alert changes nothing");
    // The line is written once the alert is committed.
    eventually("a line in the log", async || {
        gateway
            .log()
            .lines()
            .any(|line| line.contains("still unresolved") && line.contains(&id))
            .then_some(())
    })
    .await;
    // Nobody pays the demo's hosted page either.
    eventually("both alerts to be counted", async || {
        let alerts = gateway.measured("quipu_redirectpay_alerts_total").await;
        (1.5..2.5).contains(&alerts).then_some(())
    })
    .await;
    let record = merchant.wait_for(&id, "cancelled").await;
    assert_eq!(record["status_version"], 2);
    assert_eq!(events(&seen(&gateway, &id).await, "payment.cancelled"), 1);
    let complete = format!("/operator/v1/payments/{id}/complete");
    assert_eq!(gateway.operator().post_empty(&complete).await.data()["late"], true);
    gateway.check();
}

async fn a_resolved_redirect_raises_no_alert(database: Database) {
    let setup = Setup::new(database).set("SIMULATOR__DELAY", "50ms").set("REDIRECTPAY__ALERT_AFTER", "5s");
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

async fn what_expires_together_shares_commits(database: Database) {
    const MANY: u64 = 400;
    let mut gateway = Setup::new(database).set("LOG__FORMAT", "json").start().await;
    let mut merchant = gateway.merchant().await;
    let mut created = JoinSet::new();
    for _ in 0..MANY {
        let api = merchant.api.clone();
        created.spawn(async move { api.create(&steered(draft::deposit_mxn(500), "stay")).await.ok() });
    }
    created.join_all().await;
    gateway.kill();
    gateway
        .execute_sql("UPDATE work SET due_at = 1, action = 'expire' WHERE queue = 'settlement'")
        .expect("SQL");
    gateway.restart().await;
    merchant = merchant.moved_to(&gateway);
    eventually("all of them to expire", async || {
        let list = merchant.api.get("/api/v1/payments?status=expired&limit=1").await.ok();
        (list["total"] == MANY).then_some(())
    })
    .await;
    let (changes, commits) = (
        gateway.measured("quipu_commit_batch_changes_sum").await,
        gateway.measured("quipu_commit_batch_changes_count").await,
    );
    assert!(changes >= 400.0, "each expiry is a change: {changes}");
    assert!(commits * 4.0 < changes, "{changes} changes took {commits} commits");
    gateway.check();
}
