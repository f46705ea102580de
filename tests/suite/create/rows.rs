//! A row or two of each table of the create request, through the real edge into the real database. The whole tables are beside
//! the edge (crates/adapters/http/tests/edge/create).

use quipu_tests::{
    Database, Gateway, Table,
    draft::{self, partner_withdrawal, with, without},
    on_both_databases,
};
use serde_json::json;

on_both_databases!(
    each_table_refuses_what_it_should,
    each_table_lets_pass_what_it_should,
    what_only_the_merchants_data_shows_is_told_together,
);

async fn each_table_refuses_what_it_should(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for currency in ["ARS", "AUD", "GEL"] {
        merchant.fund(currency, 1_000).await;
    }
    let deposit = || draft::deposit_mxn(100);
    let aud = json!({ "recipient_name": "Ana", "bsb": "062-000", "bank_account": "12345678" });
    let aud = draft::withdrawal("AUD", "bank_transfer", 100, aud);
    let wallet = json!({ "kind": "wallet", "scheme": "phone", "value": "995 12345678" });
    let bank = json!({ "kind": "bank", "bank": { "iban": "GE29", "swift": "TBCBGE22",
        "beneficiaryName": "Nino Beridze", "beneficiaryBank": "TBC Bank", "address": "Tbilisi" } });
    let rows = [
        (with(deposit(), "/amount", json!(0.5)), "amount"),
        (without(deposit(), "/currency"), "currency"),
        (with(deposit(), "/method", json!("SPEI")), "method"),
        (with(deposit(), "/merchant_reference", json!("null\u{0}")), "merchant_reference"),
        (with(deposit(), "/customer", json!({ "name": "Ana Pérez" })), "customer"),
        (with(deposit(), "/customer/phone", json!(5)), "customer.phone"),
        (with(deposit(), "/payout", json!({ "recipient_name": "Ana" })), "payout"),
        (with(deposit(), "/webhook_events", json!(["payment.exploded"])), "webhook_events"),
        (draft::deposit("ARS", "payid", 100), "currency"),
        (without(draft::withdrawal_ars(100), "/payout/bank_account"), "payout.bank_account"),
        (aud, "payout.bsb"),
        (partner_withdrawal("GEL", 100, wallet), "payout.partnerDestination.value"),
        (partner_withdrawal("GEL", 100, bank), "payout.partnerDestination.bank.iban"),
    ];
    let mut table = Table::new();
    for (draft, field) in rows {
        table.invalid(&draft, &merchant.api.create(&draft).await, field);
    }
    // More than any number can hold: not even JSON to some.
    let beyond = deposit().to_string().replace("100", "1e400");
    let answer = merchant.api.post_bytes("/api/v1/payments", beyond).await;
    table.refused("amount 1e400", &answer, 400, "VALIDATION_FAILED");
    for (currency, code) in [("MXN", "METHOD_NOT_AVAILABLE"), ("TRY", "CURRENCY_NOT_ENABLED")] {
        let answer = merchant.api.create(&draft::deposit(currency, "cash", 100)).await;
        table.refused(format!("cash in {currency}"), &answer, 400, code);
    }
    table.finish();
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 0);
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

/// 254 characters, each part of it as long as it may be.
fn longest_address() -> String {
    let label = "d".repeat(63);
    format!("{}@{label}.{label}.{}.com", "e".repeat(64), "d".repeat(57))
}

async fn each_table_lets_pass_what_it_should(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for currency in ["AUD", "GEL"] {
        merchant.fund(currency, 1_000).await;
    }
    let mut longest = draft::steered(draft::deposit_mxn(100), "stay");
    longest["customer"] =
        json!({ "name": "n".repeat(255), "email": longest_address(), "phone": "5".repeat(32) });
    longest["merchant_reference"] = json!(format!("注文 №1 🧵{}", "é".repeat(246)));
    longest["description"] = json!("d".repeat(500));
    longest["note"] = json!("n".repeat(500));
    longest["external_id"] = json!("e".repeat(255));
    longest["traffic_type"] = json!("vip");
    longest["webhook_url"] = json!(format!("http://example.com/{}", "p".repeat(2_029)));
    let bsb = json!({ "recipient_name": "n".repeat(140), "bsb": "062000", "bank_account": "12345678" });
    let wallet = json!({ "kind": "wallet", "scheme": "reference_id", "value": "r".repeat(100) });
    let bank = json!({ "kind": "bank", "bank": { "iban": format!("MT{}", "1".repeat(32)), "swift": "TBCBGE22XXX",
        "beneficiaryName": "ბ".repeat(200), "beneficiaryBank": "b".repeat(200), "address": "a".repeat(200),
        "reference": "r".repeat(140) } });
    for draft in [
        longest,
        draft::deposit("AUD", "bank_transfer", 1),
        draft::steered(draft::withdrawal("AUD", "bank_transfer", 100, bsb), "hold"),
        draft::steered(partner_withdrawal("GEL", 100, wallet), "hold"),
        draft::steered(partner_withdrawal("GEL", 100, bank), "hold"),
    ] {
        let id = merchant.create(&draft).await;
        let record = merchant.api.payment(&id).await;
        let members = ["merchant_reference", "description", "note", "external_id", "webhook_url", "payout"];
        for member in members.into_iter().filter(|member| draft.get(member).is_some()) {
            assert_eq!(record[member], draft[member], "{member}");
        }
        for (member, value) in draft["customer"].as_object().expect("an object") {
            assert_eq!(&record["customer"][member], value, "{member}");
        }
    }
    gateway.check();
}

async fn what_only_the_merchants_data_shows_is_told_together(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let nobody = json!({ "kind": "bank", "ibanAccountId": "7" });
    let body = with(partner_withdrawal("GEL", 100, nobody), "/customer_id", json!(7));
    let answer = merchant.api.create(&body).await;
    answer.invalid("customer_id");
    answer.invalid("payout.partnerDestination.ibanAccountId");
}
