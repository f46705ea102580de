//! The payout table: what a withdrawal needs to know of its recipient.

use quipu_tests::{
    Table,
    draft::{self, with, without},
};
use serde_json::{Value, json};

use crate::shop::Shop;

type Draft = fn() -> Value;

async fn funded() -> Shop {
    let shop = Shop::open().await;
    for currency in ["ARS", "AUD", "MXN", "UYU"] {
        shop.fund(currency, 1_000_000).await;
    }
    shop
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

#[actix_web::test]
async fn a_withdrawal_needs_what_its_method_and_currency_ask() {
    let shop = funded().await;
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
        let answer = shop.create(&without(draft(), &pointer)).await;
        table.invalid(format!("{} without {member}", draft()["currency"]), &answer, &field);
        let answer = shop.create(&with(draft(), &pointer, Value::Null)).await;
        table.invalid(format!("{} with {member} null", draft()["currency"]), &answer, &field);
        let answer = shop.create(&with(draft(), &pointer, json!(""))).await;
        table.invalid(format!("{} with {member} empty", draft()["currency"]), &answer, &field);
    }
    for draft in [ars, mxn, aud_payid, aud_bank, uyu] {
        let answer = shop.create(&without(draft(), "/payout")).await;
        table.invalid(format!("{} without payout", draft()["currency"]), &answer, "payout");
        let answer = shop.create(&with(draft(), "/payout", Value::Null)).await;
        table.invalid(format!("{} with payout null", draft()["currency"]), &answer, "payout");
    }
    let hosted = with(without(uyu(), "/payout/bank_account"), "/type", json!("withdrawal_pp"));
    let answer = shop.create(&hosted).await;
    table.invalid("hosted UYU without bank_account", &answer, "payout.bank_account");
    table.finish();
}

#[actix_web::test]
async fn all_that_is_wrong_with_a_payout_is_told_at_once() {
    let shop = funded().await;
    let nothing = shop.create(&with(ars(), "/payout", json!({}))).await;
    for field in ["payout.recipient_name", "payout.bank_account"] {
        nothing.invalid(field);
    }
    let wrong = json!({ "recipient_name": 5, "bank_code": [], "bsb": "x", "colour": "red" });
    let answer = shop.create(&with(ars(), "/payout", wrong)).await;
    for member in ["recipient_name", "bank_account", "bank_code", "bsb", "colour"] {
        answer.invalid(&format!("payout.{member}"));
    }
}

#[actix_web::test]
async fn payout_members_have_types_forms_and_bounds() {
    let shop = funded().await;
    let mut table = Table::new();
    let members = ["recipient_name", "bank_account", "bank_code", "account_type", "beneficiary_tax_id"];
    for member in members {
        for value in [json!(5), json!(["x"]), json!({}), json!("x".repeat(141)), json!("bell\u{7}")] {
            let answer = shop.create(&with(ars(), &format!("/payout/{member}"), value.clone())).await;
            table.invalid(format!("{member} = {value}"), &answer, &format!("payout.{member}"));
        }
    }
    for bsb in ["12345", "1234567", "06200x", "062-000"] {
        let answer = shop.create(&with(aud_bank(), "/payout/bsb", json!(bsb))).await;
        table.invalid(format!("bsb {bsb}"), &answer, "payout.bsb");
    }
    for payid_type in [json!("iban"), json!("Email"), json!(1)] {
        let answer = shop.create(&with(aud_payid(), "/payout/payid_type", payid_type.clone())).await;
        table.invalid(format!("payid_type {payid_type}"), &answer, "payout.payid_type");
    }
    let answer = shop.create(&with(ars(), "/payout/iban", json!("DE89"))).await;
    table.invalid("an unknown member of payout", &answer, "payout.iban");
    table.finish();
}

#[actix_web::test]
async fn every_complete_payout_is_accepted() {
    let shop = funded().await;
    let mut table = Table::new();
    for draft in [ars, mxn, aud_payid, aud_bank, uyu] {
        let draft = draft();
        let answer = shop.create(&draft).await;
        table.accepted(&draft, &answer);
        assert_eq!(answer.json()["status"], "pending");
    }
    for (payid, payid_type) in [("+61412345678", "phone"), ("51824753556", "abn"), ("a@example.com", "email")]
    {
        let payout = json!({ "payid": payid, "payid_type": payid_type });
        let draft = draft::withdrawal("AUD", "payid", 100, payout);
        table.accepted(&draft, &shop.create(&draft).await);
    }
    let draft = with(ars(), "/payout/recipient_name", json!("n".repeat(140)));
    table.accepted("140 characters", &shop.create(&draft).await);
    table.finish();
}
