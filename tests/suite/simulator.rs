//! The simulator settles test payments by itself, and customers at `simulator.test` steer it.

use quipu_tests::{
    Database, Gateway, Setup,
    draft::{self, steered},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    deposits_complete_by_themselves,
    withdrawals_are_submitted_and_then_sent,
    a_deposit_can_be_told_to_fail_or_to_expire,
    a_withdrawal_can_be_told_to_fail,
    what_stays_stays,
    settlement_survives_a_restart,
);

async fn deposits_complete_by_themselves(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for (currency, method) in
        [("MXN", "spei"), ("AUD", "payid"), ("ARS", "bank_transfer"), ("LKR", "redirectpay")]
    {
        let id = merchant.create(&draft::deposit(currency, method, 1_000)).await;
        let record = merchant.wait_for(&id, "completed").await;
        assert_eq!((&record["status_version"], &record["late"]), (&json!(2), &json!(false)));
        assert!(record["completed_at"].is_string(), "{record}");
        assert_eq!(merchant.balance(currency).await, (1_000, 0), "{method}");
    }
    gateway.check();
}

async fn withdrawals_are_submitted_and_then_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::withdrawal_ars(1_000)).await;
    let record = merchant.wait_for(&id, "completed").await;
    assert_eq!(record["status_version"], 3, "pending, processing, completed");
    assert_eq!(record["payout"]["recipient_name"], "Ana Pérez");
    assert_eq!(merchant.balance("ARS").await, (0, 0));
    merchant.fund("GEL", 1_000).await;
    let wallet = json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" });
    let id = merchant.create(&draft::partner_withdrawal("GEL", 400, wallet)).await;
    merchant.wait_for(&id, "completed").await;
    gateway.check();
}

async fn a_deposit_can_be_told_to_fail_or_to_expire(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&steered(draft::deposit_mxn(1_000), "fail")).await;
    let failed = merchant.wait_for(&id, "failed").await;
    assert!(failed["failure"]["code"].is_string() && failed["failure"]["message"].is_string(), "{failed}");
    let id = merchant.create(&steered(draft::deposit_mxn(1_000), "expire")).await;
    let expired = merchant.wait_for(&id, "expired").await;
    assert_eq!(expired["failure"]["code"], "EXPIRED");
    assert_eq!(expired["completed_at"], Value::Null);
    assert_eq!(merchant.balance("MXN").await, (0, 0));
    let id = merchant.create(&steered(draft::deposit("LKR", "redirectpay", 1_000), "expire")).await;
    assert_eq!(merchant.wait_for(&id, "cancelled").await["failure"], Value::Null);
    gateway.check();
}

async fn a_withdrawal_can_be_told_to_fail(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&steered(draft::withdrawal_ars(400), "fail")).await;
    let failed = merchant.wait_for(&id, "failed").await;
    assert!(failed["failure"]["code"].is_string(), "{failed}");
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    assert_eq!(merchant.balance_of("ARS", "withdrawal").await, 0);
    gateway.check();
}

async fn what_stays_stays(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let deposit = merchant.create(&steered(draft::deposit_mxn(100), "stay")).await;
    let withdrawal = merchant.create(&steered(draft::withdrawal_ars(100), "stay")).await;
    let held = merchant.create(&steered(draft::withdrawal_ars(100), "hold")).await;
    merchant.wait_for(&withdrawal, "processing").await;
    // Whatever was due for these was due before this later pair settled.
    let later = merchant.create(&draft::withdrawal_ars(100)).await;
    merchant.wait_for(&later, "completed").await;
    for (id, status) in [(&deposit, "processing"), (&withdrawal, "processing"), (&held, "pending")] {
        assert_eq!(merchant.api.payment(id).await["status"], status);
    }
    assert_eq!(merchant.balance("ARS").await, (700, 200));
    gateway.check();
}

async fn settlement_survives_a_restart(database: Database) {
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "1s").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let deposit = merchant.create(&draft::deposit_mxn(100)).await;
    let withdrawal = merchant.create(&draft::withdrawal_ars(100)).await;
    gateway.kill();
    gateway.restart().await;
    let merchant = merchant.moved_to(&gateway);
    merchant.wait_for(&deposit, "completed").await;
    merchant.wait_for(&withdrawal, "completed").await;
    assert_eq!(gateway.terminate().await, Some(0), "SIGTERM drains and ends well");
    gateway.check();
}
