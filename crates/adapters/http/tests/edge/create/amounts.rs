//! Amounts in every form JSON has for them.

use quipu_tests::{Table, draft};

use crate::shop::Shop;

const MAX: i64 = 9_007_199_254_740_991;

#[actix_web::test]
async fn amounts_are_whole_numbers_within_bounds() {
    let shop = Shop::open().await;
    let mut table = Table::new();
    // Written as text, because a JSON library would tidy some of them up.
    let refused = [
        "null",
        "true",
        "\"100\"",
        "\"\"",
        "[]",
        "[100]",
        "{}",
        "0",
        "-0",
        "-1",
        "-100000",
        "0.5",
        "100.5",
        "100.0",
        "1e5",
        "1E5",
        "1e-5",
        "100.00",
        "9007199254740992",
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "1000000000000000000000000000000000000000000",
    ];
    for text in refused {
        let answer = shop.post_bytes("/api/v1/payments", body_with_amount(text)).await;
        table.invalid(format!("amount {text}"), &answer, "amount");
    }
    // More than any number can hold: not even JSON to some.
    let answer = shop.post_bytes("/api/v1/payments", body_with_amount("1e400")).await;
    table.refused("amount 1e400", &answer, 400, "VALIDATION_FAILED");
    for text in ["1", "100000"] {
        let answer = shop.post_bytes("/api/v1/payments", body_with_amount(text)).await;
        table.accepted(format!("amount {text}"), &answer);
    }
    table.finish();
    // The largest amount is well-formed. It is for a merchant who has nothing, because a balance holds no more.
    let shop = Shop::open().await;
    shop.create(&draft::steered(draft::deposit_mxn(MAX), "stay")).await.ok();
    shop.create(&draft::withdrawal_ars(MAX)).await.refused(400, "INSUFFICIENT_BALANCE");
}

fn body_with_amount(text: &str) -> String {
    const MARK: i64 = 777_777;
    draft::deposit_mxn(MARK).to_string().replace(&MARK.to_string(), text)
}
