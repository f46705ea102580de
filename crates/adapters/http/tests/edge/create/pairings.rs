//! Which method goes with which currency (docs/API.md, "Create").

use quipu_tests::{Table, draft};
use serde_json::json;

use crate::shop::Shop;

#[actix_web::test]
async fn methods_with_a_fixed_currency_refuse_any_other() {
    let shop = Shop::open().await;
    let allowed = |method: &str, currency: &str| match method {
        "spei" => currency == "MXN",
        "payid" => currency == "AUD",
        "redirectpay" => currency == "LKR",
        _ => ["ARS", "UYU", "AUD"].contains(&currency),
    };
    let mut table = Table::new();
    for method in ["spei", "payid", "redirectpay", "bank_transfer"] {
        for currency in ["ARS", "AUD", "LKR", "MXN", "TRY", "UYU", "GEL", "USD"] {
            let answer = shop.create(&draft::deposit(currency, method, 1_000)).await;
            let row = format!("{method} in {currency}");
            if allowed(method, currency) {
                table.accepted(row, &answer);
            } else {
                // Which of the two members is blamed is a matter of taste.
                let blames_method = answer.is_invalid("method");
                table.note(row, answer.is_invalid("currency").or(blames_method));
            }
        }
    }
    table.finish();
}

#[actix_web::test]
async fn redirectpay_takes_deposits_only() {
    let shop = Shop::open().await;
    let payout = json!({ "recipient_name": "Ana", "bank_account": "1" });
    for kind in ["withdrawal", "withdrawal_pp"] {
        let draft = draft::withdrawal("LKR", "redirectpay", 1_000, payout.clone());
        let answer = shop.create(&draft::with(draft, "/type", json!(kind))).await;
        answer.is_invalid("type").or(answer.is_invalid("method")).expect("redirectpay takes deposits only");
    }
}

#[actix_web::test]
async fn other_methods_need_a_route() {
    let shop = Shop::open().await;
    let mut table = Table::new();
    for method in ["cashstore", "card", "cash", "crypto"] {
        let answer = shop.create(&draft::deposit("MXN", method, 1_000)).await;
        table.refused(format!("{method} in MXN"), &answer, 400, "METHOD_NOT_AVAILABLE");
        let answer = shop.create(&draft::deposit("TRY", method, 1_000)).await;
        table.refused(format!("{method} in TRY"), &answer, 400, "CURRENCY_NOT_ENABLED");
    }
    table.finish();
}
