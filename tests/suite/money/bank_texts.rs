//! What files of banks say of a payment beside its amount.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

use super::bank::{entry, export, import, merchant_by_hand, statement};

on_both_databases!(
    a_text_that_names_another_payment_completes_none_but_its_own,
    what_the_recipient_is_known_by_is_in_the_file_or_the_withdrawal_is_left_out,
    an_entry_for_nobody_shows_its_texts,
    an_entry_beside_one_that_was_parked_is_further_money,
);

/// A booked debit of 5.00 with this end-to-end identifier and text.
fn debit(reference: &str, end_to_end_id: &str, text: &str) -> String {
    entry(reference, false, "5.00", end_to_end_id, false)
        .replace("</Refs>", &format!("</Refs><RmtInf><Ustrd>{text}</Ustrd></RmtInf>"))
}

async fn a_text_that_names_another_payment_completes_none_but_its_own(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    merchant.fund("MXN", 10_000).await;
    let operator = gateway.operator();
    let submitted = async |reference: Option<String>| {
        let payout = json!({ "bank_account": "032180000118359719", "recipient_name": "Ana" });
        let mut body = draft::withdrawal("MXN", "spei", 500, payout);
        if let Some(reference) = reference {
            body["merchant_reference"] = json!(reference);
        }
        let id = merchant.create(&body).await;
        operator.post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
        id
    };
    let earlier = submitted(None).await;
    let again = format!("again {earlier}");
    let later = submitted(Some(again.clone())).await;
    let last = submitted(Some(format!("and again {earlier}"))).await;
    assert_eq!(export(&gateway, &merchant)["payments"], 3);
    let file = std::fs::read_to_string(gateway.data_folder().join("out.xml")).expect("the file");
    assert!(!file.contains(&again), "{file}");
    for id in [&later, &last] {
        assert!(file.contains(&format!("<Ustrd>{id}</Ustrd>")), "{file}");
    }
    let booked = [debit("R1", &later, &again), debit("R2", "NOTPROVIDED", &last)];
    let report = import(&gateway, &statement(&booked)).expect("a statement");
    assert_eq!((&report["applied"], &report["parked"]), (&json!(2), &json!(0)), "{report}");
    for (id, status) in [(&earlier, "processing"), (&later, "completed"), (&last, "completed")] {
        assert_eq!(merchant.api.payment(id).await["status"], status, "{id}");
    }
    gateway.check();
}

async fn what_the_recipient_is_known_by_is_in_the_file_or_the_withdrawal_is_left_out(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    merchant.fund("MXN", 10_000).await;
    let submitted = async |tax_id: &str, account_type: &str| {
        let payout = json!({ "bank_account": "032180000118359719", "recipient_name": "Ana",
            "beneficiary_tax_id": tax_id, "account_type": account_type });
        let id = merchant.create(&draft::withdrawal("MXN", "spei", 500, payout)).await;
        gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
        id
    };
    let known = submitted("PEAA800101AAA", "savings").await;
    let long = "1".repeat(36);
    let mut left = [submitted(&long, "savings").await, submitted("PEAA800101AAA", &long).await];
    left.sort_unstable();
    let told = export(&gateway, &merchant);
    let left_out = told["left_out"].as_array().expect("a list");
    let mut named: Vec<_> = left_out.iter().filter_map(|one| one["transaction_id"].as_str()).collect();
    named.sort_unstable();
    assert_eq!((&told["payments"], named), (&json!(1), left.iter().map(String::as_str).collect()), "{told}");
    let says =
        |what: &str| left_out.iter().any(|one| one["reason"].as_str().is_some_and(|why| why.contains(what)));
    assert!(says("tax identifier") && says("type of the account"), "{told}");
    let file = std::fs::read_to_string(gateway.data_folder().join("out.xml")).expect("the file");
    assert!(file.contains(&known), "{file}");
    assert!(
        ["<Id>PEAA800101AAA</Id>", "<Prtry>savings</Prtry>"].iter().all(|part| file.contains(part)),
        "{file}"
    );
    gateway.check();
}

async fn an_entry_for_nobody_shows_its_texts(database: Database) {
    let gateway = Gateway::start(database).await;
    import(&gateway, &statement(&[debit("R1", "NOTPROVIDED", "rent of Ana")])).expect("a statement");
    let receipts = gateway.operator().get("/operator/v1/receipts?status=parked").await.data();
    assert_eq!(receipts[0]["rail_reference"], "debit: rent of Ana", "{receipts}");
    gateway.check();
}

async fn an_entry_beside_one_that_was_parked_is_further_money(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    let operator = gateway.operator();
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    let parked = |report: Result<Value, String>| report.expect("a statement")["parked"].clone();
    assert_eq!(parked(import(&gateway, &statement(&[entry("R1", true, "9.99", &id, false)]))), 1);
    operator.post_empty(&format!("/operator/v1/payments/{id}/complete")).await.data();
    let receipts = operator.get("/operator/v1/receipts?status=parked").await.data();
    let receipt = receipts[0]["receipt_id"].as_str().expect("an identifier");
    let ignore = json!({ "action": "ignore" });
    operator.post(&format!("/operator/v1/receipts/{receipt}/resolve"), &ignore).await.data();
    assert_eq!(parked(import(&gateway, &statement(&[entry("R2", true, "10.00", &id, false)]))), 1);
    let receipts = operator.get("/operator/v1/receipts?status=parked").await.data();
    assert_eq!(receipts[0]["reason"], "contradiction", "{receipts}");
    gateway.check();
}
