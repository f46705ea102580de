//! The largest amounts, and the largest balances.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(the_largest_amount_is_well_formed, no_payment_can_take_a_balance_out_of_range);

const MAX: i64 = 9_007_199_254_740_991;

async fn the_largest_amount_is_well_formed(database: Database) {
    let gateway = Gateway::start(database).await;
    // It is for a merchant who has nothing, because a balance holds no more.
    let merchant = gateway.merchant().await;
    merchant.api.create(&draft::steered(draft::deposit_mxn(MAX), "stay")).await.ok();
    merchant.api.create(&draft::withdrawal_ars(MAX)).await.refused(400, "INSUFFICIENT_BALANCE");
    gateway.check();
}

async fn no_payment_can_take_a_balance_out_of_range(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", MAX - 5).await;
    for amount in [6, 1_000, MAX] {
        merchant.api.create(&draft::deposit_mxn(amount)).await.refused(400, "AMOUNT_OUT_OF_RANGE");
    }
    let id = merchant.create(&draft::deposit_mxn(5)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("MXN").await, (MAX, 0));
    // What is frozen still belongs to the main balance, and may become available again.
    let held = draft::withdrawal("MXN", "spei", 1_000, payout_of_mxn());
    let held = merchant.create(&draft::steered(held, "hold")).await;
    merchant.api.create(&draft::deposit_mxn(1)).await.refused(400, "AMOUNT_OUT_OF_RANGE");
    merchant.api.post_empty(&format!("/api/v1/payments/{held}/cancel")).await.data();

    // The total of sent withdrawals is a balance too.
    let sent = merchant.create(&draft::withdrawal("MXN", "spei", MAX, payout_of_mxn())).await;
    merchant.wait_for(&sent, "completed").await;
    let id = merchant.create(&draft::deposit_mxn(MAX - 5)).await;
    merchant.wait_for(&id, "completed").await;
    merchant
        .api
        .create(&draft::withdrawal("MXN", "spei", 1, payout_of_mxn()))
        .await
        .refused(400, "AMOUNT_OUT_OF_RANGE");
    gateway.check();
}

fn payout_of_mxn() -> Value {
    json!({ "bank_account": "032180000118359719" })
}
