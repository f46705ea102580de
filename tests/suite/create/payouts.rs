//! What a withdrawal has to say of its recipient, as its type and its route want it.

use quipu_tests::{
    Database, Gateway, Merchant,
    draft::{self, with, without},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(a_hosted_withdrawal_may_leave_the_recipient_open, a_route_may_ask_for_more);

async fn funded(gateway: &Gateway) -> Merchant {
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000_000).await;
    merchant
}

fn ars() -> Value {
    draft::withdrawal_ars(100)
}

async fn a_hosted_withdrawal_may_leave_the_recipient_open(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let open = with(without(ars(), "/payout"), "/type", json!("withdrawal_pp"));
    let created = merchant.api.create(&open).await.ok();
    assert_eq!(created["status"], "pending");
    assert_eq!(merchant.balance("ARS").await, (999_900, 100));
}

async fn a_route_may_ask_for_more(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    merchant
        .edit_routes(|route| {
            if route["currency"] == "ARS" && route["direction"] == "withdrawal" {
                route["required_payout_fields"] = json!(["beneficiary_tax_id", "bank_code"]);
            }
        })
        .await;
    let answer = merchant.api.create(&ars()).await;
    answer.invalid("payout.beneficiary_tax_id");
    answer.invalid("payout.bank_code");
    let complete =
        with(with(ars(), "/payout/beneficiary_tax_id", json!("20-1")), "/payout/bank_code", json!("017"));
    merchant.api.create(&complete).await.ok();
}
