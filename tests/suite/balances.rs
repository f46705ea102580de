//! Balances through the life of deposits and withdrawals (specification, "Balance changes").

use quipu_tests::{Database, Gateway, Setup, draft, on_both_databases};
use serde_json::json;

on_both_databases!(a_completed_deposit_becomes_available, a_withdrawal_freezes_its_amount_until_it_is_sent,);

async fn a_completed_deposit_becomes_available(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    assert_eq!(merchant.balance_of("MXN", "deposit").await, 1_000);
    gateway.check();
}

async fn a_withdrawal_freezes_its_amount_until_it_is_sent(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1s").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    assert_eq!(merchant.balance("ARS").await, (600, 400));
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    assert_eq!(merchant.balance_of("ARS", "withdrawal").await, 400);
    assert_eq!(merchant.balance_record("ARS", "main").await["new_balance"], json!(600));
    gateway.check();
}
