//! The payout table: what a withdrawal needs to know of its recipient.

use quipu_tests::{
    Database, Gateway, Merchant, Table,
    draft::{self, with, without},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    a_withdrawal_needs_what_its_method_and_currency_ask,
    all_that_is_wrong_with_a_payout_is_told_at_once,
    payout_members_have_types_forms_and_bounds,
    every_complete_payout_is_accepted,
    a_hosted_withdrawal_may_leave_the_recipient_open,
    a_route_may_ask_for_more,
);

type Draft = fn() -> Value;

async fn funded(gateway: &Gateway) -> Merchant {
    let merchant = gateway.merchant().await;
    for currency in ["ARS", "AUD", "MXN", "UYU"] {
        merchant.fund(currency, 1_000_000).await;
    }
    merchant
}

fn ars() -> Value {
    draft::withdrawal_ars(100)
}

fn mxn() -> Value {
    let payout = json!({ "recipient_name": "Ana Pérez", "bank_account": "032180000118359719" });
    draft::withdrawal("MXN", "spei", 100, payout)
}

fn aud_payid() -> Value {
    draft::withdrawal("AUD", "payid", 100, json!({ "payid": "ana@example.com", "payid_type": "email" }))
}

fn aud_bank() -> Value {
    let payout = json!({ "recipient_name": "Ana", "bsb": "062000", "bank_account": "12345678" });
    draft::withdrawal("AUD", "bank_transfer", 100, payout)
}

fn uyu() -> Value {
    let payout = json!({ "recipient_name": "Ana", "bank_account": "001234567800001", "bank_code": "113" });
    draft::withdrawal("UYU", "bank_transfer", 100, payout)
}

async fn a_withdrawal_needs_what_its_method_and_currency_ask(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let rows: [(Draft, &str); 8] = [
        (ars, "recipient_name"),
        (ars, "bank_account"),
        (mxn, "bank_account"),
        (aud_payid, "payid"),
        (aud_payid, "payid_type"),
        (aud_bank, "bsb"),
        (aud_bank, "bank_account"),
        (uyu, "bank_account"),
    ];
    for (draft, member) in rows {
        let (pointer, field) = (format!("/payout/{member}"), format!("payout.{member}"));
        let answer = merchant.api.create(&without(draft(), &pointer)).await;
        table.invalid(format!("{} without {member}", draft()["currency"]), &answer, &field);
        let answer = merchant.api.create(&with(draft(), &pointer, Value::Null)).await;
        table.invalid(format!("{} with {member} null", draft()["currency"]), &answer, &field);
        let answer = merchant.api.create(&with(draft(), &pointer, json!(""))).await;
        table.invalid(format!("{} with {member} empty", draft()["currency"]), &answer, &field);
    }
    for draft in [ars, mxn, aud_payid, aud_bank, uyu] {
        let answer = merchant.api.create(&without(draft(), "/payout")).await;
        table.invalid(format!("{} without payout", draft()["currency"]), &answer, "payout");
        let answer = merchant.api.create(&with(draft(), "/payout", Value::Null)).await;
        table.invalid(format!("{} with payout null", draft()["currency"]), &answer, "payout");
    }
    let hosted = with(without(uyu(), "/payout/bank_account"), "/type", json!("withdrawal_pp"));
    let answer = merchant.api.create(&hosted).await;
    table.invalid("hosted UYU without bank_account", &answer, "payout.bank_account");
    table.finish();
}

async fn all_that_is_wrong_with_a_payout_is_told_at_once(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let nothing = merchant.api.create(&with(ars(), "/payout", json!({}))).await;
    for field in ["payout.recipient_name", "payout.bank_account"] {
        nothing.invalid(field);
    }
    let wrong = json!({ "recipient_name": 5, "bank_code": [], "bsb": "x", "colour": "red" });
    let answer = merchant.api.create(&with(ars(), "/payout", wrong)).await;
    for member in ["recipient_name", "bank_account", "bank_code", "bsb", "colour"] {
        answer.invalid(&format!("payout.{member}"));
    }
}

async fn payout_members_have_types_forms_and_bounds(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let members = ["recipient_name", "bank_account", "bank_code", "account_type", "beneficiary_tax_id"];
    for member in members {
        for value in [json!(5), json!(["x"]), json!({}), json!("x".repeat(141)), json!("bell\u{7}")] {
            let answer = merchant.api.create(&with(ars(), &format!("/payout/{member}"), value.clone())).await;
            table.invalid(format!("{member} = {value}"), &answer, &format!("payout.{member}"));
        }
    }
    for bsb in ["12345", "1234567", "06200x", "062-000"] {
        let answer = merchant.api.create(&with(aud_bank(), "/payout/bsb", json!(bsb))).await;
        table.invalid(format!("bsb {bsb}"), &answer, "payout.bsb");
    }
    for payid_type in [json!("iban"), json!("Email"), json!(1)] {
        let answer = merchant.api.create(&with(aud_payid(), "/payout/payid_type", payid_type.clone())).await;
        table.invalid(format!("payid_type {payid_type}"), &answer, "payout.payid_type");
    }
    let answer = merchant.api.create(&with(ars(), "/payout/iban", json!("DE89"))).await;
    table.invalid("an unknown member of payout", &answer, "payout.iban");
    table.finish();
}

async fn every_complete_payout_is_accepted(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    for draft in [ars, mxn, aud_payid, aud_bank, uyu] {
        let draft = draft();
        let answer = merchant.api.create(&draft).await;
        table.accepted(&draft, &answer);
        assert_eq!(answer.json()["status"], "pending");
    }
    for (payid, payid_type) in [("+61412345678", "phone"), ("51824753556", "abn"), ("a@example.com", "email")]
    {
        let payout = json!({ "payid": payid, "payid_type": payid_type });
        let draft = draft::withdrawal("AUD", "payid", 100, payout);
        table.accepted(&draft, &merchant.api.create(&draft).await);
    }
    let draft = with(ars(), "/payout/recipient_name", json!("n".repeat(140)));
    table.accepted("140 characters", &merchant.api.create(&draft).await);
    table.finish();
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
