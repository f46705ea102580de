//! Balances through the life of deposits and withdrawals (docs/API.md, "Balances").

use std::collections::BTreeMap;

use quipu_tests::{Database, Gateway, Setup, draft, on_both_databases};
use serde_json::json;

on_both_databases!(
    a_completed_deposit_becomes_available,
    a_withdrawal_freezes_its_amount_until_it_is_sent,
    the_record_is_as_specified,
    all_balances_are_listed,
    merchant_scoped_reads_answer_the_same,
);

async fn a_completed_deposit_becomes_available(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(1_000)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    assert_eq!(merchant.balance_of("MXN", "deposit").await, 1_000);
    gateway.check();
}

async fn a_withdrawal_freezes_its_amount_until_it_is_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_100).await;
    merchant.create(&draft::steered(draft::withdrawal_ars(100), "hold")).await;
    assert_eq!(merchant.balance("ARS").await, (1_000, 100));
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("ARS").await, (600, 100));
    assert_eq!(merchant.balance_of("ARS", "withdrawal").await, 400);
    assert_eq!(merchant.balance_record("ARS", "main").await["new_balance"], json!(700));
    gateway.check();
}

async fn the_record_is_as_specified(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    merchant.create(&draft::withdrawal_ars(400)).await;
    let record = |balance_type: &str, total: i64, available: i64, frozen: i64| {
        json!({
            "success": true,
            "merchant_id": merchant.id,
            "currency": "ARS",
            "balance_type": balance_type,
            "balance_amount": total.to_string(),
            "available_amount": available.to_string(),
            "frozen_amount": frozen.to_string(),
            "new_balance": total,
            "available_balance": available,
        })
    };
    assert_eq!(merchant.balance_record("ARS", "main").await, record("main", 1_000, 600, 400));
    assert_eq!(merchant.balance_record("ARS", "frozen").await, record("frozen", 400, 0, 400));
    for empty in ["deposit", "withdrawal", "commission"] {
        assert_eq!(merchant.balance_record("ARS", empty).await, record(empty, 0, 0, 0));
    }
    // MXN and main are the defaults.
    let default = merchant.api.get("/api/v1/balance").await.ok();
    assert_eq!((&default["currency"], &default["balance_type"]), (&json!("MXN"), &json!("main")));

    for (caller, path) in [(&merchant.api, "/api/v1/balance"), (&gateway.v2(), "/api/v2/balance")] {
        for currency in ["ARS", "AUD", "LKR", "MXN", "TRY", "UYU"] {
            for balance_type in ["main", "deposit", "withdrawal", "commission", "frozen"] {
                let query = format!("{path}?currency={currency}&balance_type={balance_type}");
                let read = caller.get(&query).await.ok();
                let echoed = (&read["currency"], &read["balance_type"]);
                assert_eq!(echoed, (&json!(currency), &json!(balance_type)), "{query}");
            }
        }
        caller.get(&format!("{path}?currency=GEL")).await.invalid("currency");
        caller.get(&format!("{path}?balance_type=all")).await.invalid("balance_type");
    }
}

async fn all_balances_are_listed(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("GEL", 700).await;
    let all = merchant.api.get("/api/v1/balance/all").await.ok();
    let balances = all["balances"].as_array().expect("a list");
    assert_eq!((&all["success"], &all["merchant_id"]), (&json!(true), &json!(merchant.id)));
    assert_eq!(all["total_balances"], balances.len());
    for currency in ["ARS", "AUD", "GEL", "LKR", "MXN", "UYU"] {
        let mut types: Vec<_> = balances
            .iter()
            .filter(|balance| balance["currency"] == currency)
            .map(|balance| balance["balance_type"].as_str().expect("a string"))
            .collect();
        types.sort_unstable();
        assert_eq!(types, ["commission", "deposit", "frozen", "main", "withdrawal"], "{currency}");
    }
    let gel = json!({
        "currency": "GEL", "balance_type": "main",
        "balance_amount": "700", "available_amount": "700", "frozen_amount": "0",
    });
    assert!(balances.contains(&gel), "{all}");

    // A currency is listed for its activity or for an enabled route.
    let listed = async || {
        let all = merchant.api.get("/api/v1/balance/all").await.ok();
        let mut types_of = BTreeMap::<String, usize>::new();
        for balance in all["balances"].as_array().expect("a list") {
            *types_of.entry(balance["currency"].as_str().expect("a string").to_owned()).or_default() += 1;
        }
        types_of
    };
    assert_eq!(listed().await.get("TRY"), None);
    merchant.fund("TRY", 5).await;
    assert_eq!(listed().await["TRY"], 5);
    gateway.operator().put(&merchant.operator_path("/routes"), &json!({ "routes": [] })).await.data();
    assert_eq!(listed().await, BTreeMap::from([("GEL".to_owned(), 5), ("TRY".to_owned(), 5)]));
}

async fn merchant_scoped_reads_answer_the_same(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    merchant.fund("ARS", 1_000).await;
    for rest in ["/balance?currency=ARS", "/balance/all"] {
        let own = merchant.api.get(&format!("/api/v1{rest}")).await.ok();
        let path = format!("/api/v1/merchants/{}{rest}", merchant.id);
        assert_eq!(merchant.api.get(&path).await.ok(), own);
        stranger.api.get(&path).await.refused(404, "MERCHANT_NOT_FOUND");
        let separator = if rest.contains('?') { '&' } else { '?' };
        let as_operator = gateway.operator().get(&format!("{path}{separator}environment=test")).await.ok();
        assert_eq!(as_operator, own);
        let unknown = format!("{path}{separator}environment=production");
        gateway.operator().get(&unknown).await.invalid("environment");
    }
    // The operator sees `live` unless told otherwise.
    let path = format!("/api/v1/merchants/{}/balance?currency=ARS", merchant.id);
    assert_eq!(gateway.operator().get(&path).await.ok()["balance_amount"], "0");
    let nobody = "/api/v1/merchants/999999999/balance/all";
    gateway.operator().get(nobody).await.refused(404, "MERCHANT_NOT_FOUND");
}
