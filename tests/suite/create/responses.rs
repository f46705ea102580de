//! What a created payment answers, and what its record shows (docs/API.md, "Create").

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    the_answer_echoes_the_request,
    each_method_answers_its_instructions,
    the_record_has_the_answer_and_more,
);

async fn the_answer_echoes_the_request(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    for (draft, status) in
        [(draft::deposit_mxn(100_000), "processing"), (draft::withdrawal_ars(400), "pending")]
    {
        let answer = merchant.api.create(&draft).await.ok();
        assert_eq!(answer["success"], true);
        assert_eq!(answer["status"], status);
        for member in ["amount", "currency", "method", "type", "merchant_reference"] {
            assert_eq!(answer[member], draft[member], "{member}");
        }
        assert_eq!(answer["customer"]["email"], draft["customer"]["email"]);
        assert_eq!(answer["customer"]["name"], draft["customer"]["name"]);
        assert_eq!(answer["customer"]["id"], answer["customer_id"]);
        assert_identifier(answer["transaction_id"].as_str().expect("a string"));
        assert_instant(&answer["created_at"]);
    }
}

/// `pay_<13 digits>_<12 lower-case base32 characters>`, the alphabet that of RFC 4648.
fn assert_identifier(id: &str) {
    let parts: Vec<_> = id.split('_').collect();
    let [prefix, digits, suffix] = parts[..] else { panic!("{id}") };
    assert_eq!(prefix, "pay");
    assert!(digits.len() == 13 && digits.chars().all(|c| c.is_ascii_digit()), "{id}");
    let base32 = |c: char| matches!(c, 'a'..='z' | '2'..='7');
    assert!(suffix.len() == 12 && suffix.chars().all(base32), "{id}");
}

/// ISO 8601 in UTC.
fn assert_instant(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("an instant, not {value}"));
    assert!(text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z'), "{text}");
}

/// Which members there are is held in `records.rs`, this is what stands in them.
async fn each_method_answers_its_instructions(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for (currency, method) in
        [("ARS", "bank_transfer"), ("UYU", "bank_transfer"), ("AUD", "bank_transfer"), ("MXN", "spei")]
    {
        let answer = merchant.api.create(&draft::deposit(currency, method, 1_050)).await.ok();
        let details = &answer["bank_details"];
        assert_eq!(details["amount"], "1050", "{answer}");
        assert_eq!(details["currency"], currency);
        let id = answer["transaction_id"].as_str().expect("a string");
        assert!(details["purpose"].as_str().is_some_and(|purpose| purpose.contains(id)), "{details}");
        for member in ["bank_name", "account_holder", "account_number"] {
            assert!(details[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {details}");
        }
        assert_eq!(details["bsb"].is_string(), currency == "AUD", "{details}");
    }
    let answer = merchant.api.create(&draft::deposit("AUD", "payid", 1_050)).await.ok();
    for member in ["payid", "payid_type", "payid_name", "reference"] {
        assert!(answer["payid_details"][member].is_string(), "{member}: {answer}");
    }
    let answer = merchant.api.create(&draft::deposit("LKR", "redirectpay", 1_050)).await.ok();
    assert!(answer["redirect_url"].as_str().is_some_and(|url| url.starts_with("http")), "{answer}");
}

async fn the_record_has_the_answer_and_more(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut draft = draft::steered(draft::deposit_mxn(100_000), "stay");
    draft["description"] = json!("Order 7");
    draft["note"] = json!("tab\there");
    draft["external_id"] = json!("ext-7");
    draft["traffic_type"] = json!("vip");
    draft["return_urls"] =
        json!({ "success_url": "https://example.com/ok", "cancel_url": "https://example.com/no" });
    let answer = merchant.api.create(&draft).await.ok();
    let id = answer["transaction_id"].as_str().expect("a string");
    let record = merchant.api.payment(id).await;
    for (member, value) in answer.as_object().expect("an object") {
        assert!(
            member == "success" || record[member] == *value,
            "{member}: {} is not {value}",
            record[member]
        );
    }
    for member in ["description", "note", "external_id", "traffic_type", "return_urls"] {
        assert_eq!(record[member], draft[member], "{member}");
    }
    assert_eq!(record["environment"], "test");
    assert_eq!((&record["fee"], &record["net_amount"]), (&json!(0), &json!(100_000)));
    assert_eq!(record["refunded_amount"], 0);
    assert_eq!(record["received_amount"], Value::Null);
    assert_eq!(record["late"], false);
    assert_eq!(record["failure"], Value::Null);
    assert_eq!(record["status_version"], 1);
    assert_eq!(record["completed_at"], Value::Null);
    assert_instant(&record["expires_at"]);
    assert_instant(&record["updated_at"]);
}
