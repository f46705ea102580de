//! Partner destinations: saved beneficiaries, and the routes they go by.

use quipu_tests::{
    Database, Gateway, Merchant, Table,
    draft::{self, partner_withdrawal},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    saved_beneficiaries_must_exist_and_be_of_the_kind,
    without_a_partner_route_it_is_not_ready,
    it_takes_any_enabled_currency_and_converts_none,
);

async fn funded(gateway: &Gateway) -> Merchant {
    let merchant = gateway.merchant().await;
    merchant.fund("GEL", 1_000_000).await;
    merchant
}

fn wallet() -> Value {
    json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" })
}

async fn refuse(merchant: &Merchant, table: &mut Table, destination: Value, field: &str) {
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.invalid(destination, &answer, field);
}

async fn accept(merchant: &Merchant, table: &mut Table, destination: Value) {
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.accepted(destination, &answer);
}

async fn saved_beneficiaries_must_exist_and_be_of_the_kind(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (funded(&gateway).await, funded(&gateway).await);
    let bank = saved(&gateway, &merchant, "bank", "test").await;
    let sepa = saved(&gateway, &merchant, "sepa", "test").await;
    // Numbers are counted within a merchant and environment; these lie beyond those of the merchant under test.
    let (mut live, mut foreign) = (String::new(), String::new());
    for _ in 0..3 {
        live = saved(&gateway, &merchant, "bank", "live").await;
        foreign = saved(&gateway, &stranger, "bank", "test").await;
    }
    let mut table = Table::new();
    accept(&merchant, &mut table, json!({ "kind": "bank", "ibanAccountId": bank })).await;
    accept(&merchant, &mut table, json!({ "kind": "sepa", "ibanAccountId": sepa })).await;
    let field = "payout.partnerDestination.ibanAccountId";
    for (kind, id) in [("sepa", &bank), ("bank", &sepa), ("bank", &live), ("bank", &foreign)] {
        refuse(&merchant, &mut table, json!({ "kind": kind, "ibanAccountId": id }), field).await;
    }
    table.finish();
}

async fn saved(gateway: &Gateway, merchant: &Merchant, kind: &str, environment: &str) -> String {
    let body = json!({
        "environment": environment,
        "kind": kind,
        "iban": "GE29NB0000000101904917",
        "swift": "TBCBGE22",
        "beneficiaryName": "Nino Beridze",
        "beneficiaryBank": "TBC Bank",
        "address": "7 Marjanishvili St, Tbilisi",
    });
    let data = gateway.operator().post(&merchant.operator_path("/beneficiaries"), &body).await.data();
    data["ibanAccountId"].as_str().expect("ibanAccountId is a decimal string").to_owned()
}

async fn without_a_partner_route_it_is_not_ready(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    merchant.fund("ARS", 1_000).await;
    for currency in ["ARS", "MXN", "USD"] {
        let answer = merchant.api.create(&partner_withdrawal(currency, 100, wallet())).await;
        answer.refused(400, "PARTNER_PAYOUT_NOT_READY");
        // Whom it would go to is no question then.
        let unknown = partner_withdrawal(currency, 100, json!({ "kind": "bank", "ibanAccountId": "7" }));
        merchant.api.create(&unknown).await.refused(400, "PARTNER_PAYOUT_NOT_READY");
    }
    merchant
        .edit_routes(|route| {
            if route["currency"] == "GEL" {
                route["enabled"] = json!(false);
            }
        })
        .await;
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, wallet())).await;
    answer.refused(400, "PARTNER_PAYOUT_NOT_READY");
}

async fn it_takes_any_enabled_currency_and_converts_none(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000_000).await;
    merchant.api.create(&partner_withdrawal("GEL", 100, wallet())).await.refused(400, "INSUFFICIENT_BALANCE");
    assert_eq!(merchant.balance("MXN").await, (1_000_000, 0));
    merchant
        .add_routes([json!({ "environment": "test", "currency": "USD", "method": "bank_transfer",
            "direction": "withdrawal", "partner": true, "enabled": true, "rail": "simulator", "min_amount": 1 })])
        .await;
    merchant.fund("USD", 100).await;
    merchant.create(&partner_withdrawal("USD", 100, wallet())).await;
    // The currency is enabled for partners only.
    let payout = json!({ "recipient_name": "Ana", "bank_account": "1" });
    let plain = draft::withdrawal("USD", "bank_transfer", 100, payout);
    merchant.api.create(&plain).await.invalid("currency");
}
