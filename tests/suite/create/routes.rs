//! What a merchant's routes decide: whether, how much, at what fee (docs/OPERATIONS.md, "The operator API").

use quipu_tests::{Database, Gateway, Table, draft, on_both_databases};
use serde_json::json;

on_both_databases!(
    amounts_outside_the_route_are_refused,
    a_disabled_route_is_no_route,
    fees_come_off_deposits_and_on_top_of_withdrawals,
    the_operator_adds_routes,
    methods_lists_what_the_routes_enable,
    validate_says_what_a_creation_would,
    account_checks_can_be_enforced,
);

async fn amounts_outside_the_route_are_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant
        .edit_routes(|route| {
            route["min_amount"] = json!(100);
            route["max_amount"] = json!(500);
        })
        .await;
    for amount in [99, 501] {
        merchant.api.create(&draft::deposit_mxn(amount)).await.refused(400, "AMOUNT_OUT_OF_RANGE");
    }
    for amount in [100, 500] {
        merchant.api.create(&draft::deposit_mxn(amount)).await.ok();
    }
}

async fn a_disabled_route_is_no_route(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant
        .edit_routes(|route| {
            if route["direction"] == "deposit" {
                route["enabled"] = json!(false);
            }
        })
        .await;
    merchant.api.create(&draft::deposit_mxn(100)).await.refused(400, "METHOD_NOT_AVAILABLE");
}

async fn fees_come_off_deposits_and_on_top_of_withdrawals(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant
        .edit_routes(|route| {
            route["fee_bps"] = json!(150);
            route["fee_fixed"] = json!(3);
        })
        .await;
    // 1.5 % of 1,030 is 15.45, of 1,033 it is 15.495, of 1,100 it is 16.5, which rounds up.
    for (amount, fee) in [(1_030, 18), (1_033, 18), (1_100, 20)] {
        let id = merchant.create(&draft::deposit_mxn(amount)).await;
        let record = merchant.wait_for(&id, "completed").await;
        assert_eq!((&record["fee"], &record["net_amount"]), (&json!(fee), &json!(amount - fee)));
    }
    let net = 1_030 + 1_033 + 1_100 - 18 - 18 - 20;
    assert_eq!(merchant.balance("MXN").await, (net, 0));
    assert_eq!(merchant.balance_of("MXN", "deposit").await, 1_030 + 1_033 + 1_100);
    assert_eq!(merchant.balance_of("MXN", "commission").await, 18 + 18 + 20);

    merchant.fund("ARS", 1_018).await;
    // The amount is covered, its fee is not.
    merchant.api.create(&draft::withdrawal_ars(1_018)).await.refused(400, "INSUFFICIENT_BALANCE");
    let id = merchant.create(&draft::withdrawal_ars(1_000)).await;
    let record = merchant.wait_for(&id, "completed").await;
    assert_eq!((&record["fee"], &record["net_amount"]), (&json!(18), &json!(1_000)));
    assert_eq!(merchant.balance("ARS").await, (0, 0));
    assert_eq!(merchant.balance_of("ARS", "withdrawal").await, 1_000);
    assert_eq!(merchant.balance_of("ARS", "commission").await, 18);
    gateway.check();
}

async fn the_operator_adds_routes(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let methods =
        [("cash", "voucher_details"), ("cashstore", "voucher_details"), ("crypto", "crypto_details")];
    merchant
        .add_routes(methods.iter().map(|(method, _)| *method).chain(["card"]).map(|method| {
            json!({ "environment": "test", "currency": "TRY", "method": method, "direction": "deposit",
                    "partner": false, "enabled": true, "rail": "simulator", "min_amount": 1 })
        }))
        .await;
    for (method, instructions) in methods {
        let answer = merchant.api.create(&draft::deposit("TRY", method, 1_000)).await.ok();
        assert!(answer[instructions].is_object(), "{answer}");
    }
    let answer = merchant.api.create(&draft::deposit("TRY", "card", 1_000)).await.ok();
    assert!(answer["redirect_url"].is_string(), "{answer}");
}

async fn methods_lists_what_the_routes_enable(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let methods = merchant.api.get("/api/v1/payments/methods").await.data();
    let rows = methods.as_array().expect("a list");
    let find = |method: &str, currency: &str, kind: &str| {
        rows.iter().find(|row| row["method"] == method && row["currency"] == currency && row["type"] == kind)
    };
    for (method, currency) in
        [("spei", "MXN"), ("payid", "AUD"), ("bank_transfer", "ARS"), ("bank_transfer", "UYU")]
    {
        for kind in ["deposit", "withdrawal", "deposit_pp", "withdrawal_pp"] {
            let row = find(method, currency, kind)
                .unwrap_or_else(|| panic!("{method} {currency} {kind}: {methods}"));
            assert_eq!((&row["min_amount"], &row["max_amount"]), (&json!(1), &json!(null)));
            assert!(row["required_payout_fields"].is_array());
        }
    }
    assert!(find("redirectpay", "LKR", "deposit").is_some());
    assert!(find("redirectpay", "LKR", "withdrawal").is_none());
    assert_eq!(find("bank_transfer", "GEL", "withdrawal").expect("partner payouts")["partner"], true);
    assert!(find("bank_transfer", "GEL", "deposit").is_none());
}

/// Every answer has its row in `crates/adapters/http/tests/edge/tables.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validate_judges_without_creating() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let validate = async |body| merchant.api.post("/api/v1/payments/methods/validate", &body).await;
    let good = validate(json!({ "method": "spei", "currency": "MXN", "type": "deposit", "amount": 100 }))
        .await
        .data();
    assert_eq!(good, json!({ "valid": true, "errors": [] }));
    let card = validate(json!({ "method": "card", "currency": "MXN", "type": "deposit" })).await.data();
    assert_eq!((&card["valid"], &card["errors"][0]["code"]), (&json!(false), &json!("METHOD_NOT_AVAILABLE")));
    validate(json!({})).await.refused(400, "VALIDATION_FAILED");
    let list = merchant.api.get("/api/v1/payments").await.ok();
    assert_eq!(list["total"], 0);
}

async fn account_checks_can_be_enforced(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000).await;
    for currency in ["ARS", "AUD", "GEL"] {
        merchant.fund(currency, 1_000).await;
    }
    let clabe = |number: &str| draft::withdrawal("MXN", "spei", 10, json!({ "bank_account": number }));
    let cbu = |number: &str| {
        let payout = json!({ "recipient_name": "Ana", "bank_account": number });
        draft::withdrawal("ARS", "bank_transfer", 10, payout)
    };
    let abn =
        |number: &str| draft::withdrawal("AUD", "payid", 10, json!({ "payid": number, "payid_type": "abn" }));
    let iban = |number: &str| {
        let bank = json!({ "iban": number, "swift": "TBCBGE22", "beneficiaryName": "Nino Beridze",
            "beneficiaryBank": "TBC Bank", "address": "Tbilisi" });
        draft::partner_withdrawal("GEL", 10, json!({ "kind": "bank", "bank": bank }))
    };
    let rows = [
        (clabe("032180000118359719"), clabe("032180000118359718"), "payout.bank_account"),
        (cbu("2850590940090418135201"), cbu("2850590940090418135202"), "payout.bank_account"),
        (abn("51824753556"), abn("51824753557"), "payout.payid"),
        (
            iban("GE29NB0000000101904917"),
            iban("GE28NB0000000101904917"),
            "payout.partnerDestination.bank.iban",
        ),
    ];
    let mut table = Table::new();
    for (_, wrong, field) in &rows {
        let again = draft::with(wrong.clone(), "/merchant_reference", json!(draft::reference()));
        table.accepted(format!("{field} by its form"), &merchant.api.create(&again).await);
    }
    merchant.edit_routes(|route| route["account_check"] = json!("enforce")).await;
    for (right, wrong, field) in rows {
        table.accepted(format!("{field} right"), &merchant.api.create(&right).await);
        table.invalid(format!("{field} wrong"), &merchant.api.create(&wrong).await, field);
    }
    table.finish();
}

async fn validate_says_what_a_creation_would(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant
        .edit_routes(|route| {
            route["min_amount"] = json!(100);
            route["max_amount"] = json!(500);
            route["fee_fixed"] = json!(150);
        })
        .await;
    merchant.fund("ARS", 10_000).await;
    merchant.fund("GEL", 10_000).await;
    let to_beneficiary = json!({ "kind": "bank", "ibanAccountId": "7" });
    let to_wallet = json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" });
    let drafts = [
        draft::partner_withdrawal("UYU", 100, to_beneficiary.clone()),
        draft::deposit_mxn(99),
        draft::deposit_mxn(149),
        draft::deposit_mxn(150),
        draft::deposit_mxn(501),
        draft::deposit("USD", "cash", 200),
        draft::deposit("MXN", "cash", 200),
        draft::deposit("AUD", "spei", 200),
        draft::withdrawal_ars(100),
        draft::withdrawal_ars(99),
        draft::with(draft::withdrawal_ars(100), "/payout", json!({})),
        draft::withdrawal("ARS", "redirectpay", 100, json!({})),
        draft::partner_withdrawal("GEL", 100, to_wallet.clone()),
        draft::partner_withdrawal("UYU", 100, to_wallet),
        draft::partner_withdrawal("GEL", 100, to_beneficiary),
    ];
    for draft in drafts {
        let mut question = json!({});
        for member in ["method", "currency", "type", "amount", "payout"] {
            question[member] = draft[member].clone();
        }
        let judged = merchant.api.post("/api/v1/payments/methods/validate", &question).await.data();
        let created = merchant.api.create(&draft).await;
        assert_eq!(judged["valid"], created.status == 200, "{judged}, but {created}");
        if created.status != 200 {
            assert_eq!(judged["errors"][0]["code"], created.json()["error_code"], "{judged}, but {created}");
        }
    }
}
