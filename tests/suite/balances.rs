//! Balances through the life of deposits and withdrawals (docs/API.md, "Balances").

use std::collections::BTreeMap;

use quipu_tests::{Client, Database, Gateway, Setup, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    a_completed_deposit_becomes_available,
    a_withdrawal_freezes_its_amount_until_it_is_sent,
    the_record_is_as_specified,
    all_balances_are_listed,
    merchant_scoped_reads_answer_the_same,
    live_money_and_test_money_are_apart,
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
        let query = format!("{path}?currency=TRY&balance_type=commission");
        let read = caller.get(&query).await.ok();
        assert_eq!((&read["currency"], &read["balance_type"]), (&json!("TRY"), &json!("commission")));
        caller.get(&format!("{path}?currency=GEL")).await.invalid("currency");
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

async fn live_money_and_test_money_are_apart(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let account = json!({
        "bank_name": "Bank", "account_holder": "Quipu", "account_number": "646180157000000004",
    });
    let mut by_hand = merchant.routes().await;
    by_hand.retain(|route| route["method"] == "spei");
    for route in &mut by_hand {
        (route["rail"], route["instructions"]) = (json!("manual"), account.clone());
        route["environment"] = json!("live");
    }
    merchant.edit_routes(|route| route["rail"] = json!("simulator")).await;
    merchant.add_routes(by_hand).await;
    let live = merchant.key(&json!({ "environment": "live" })).await;
    let completed = async |api: &Client, amount: i64| {
        // Nobody listens there.
        let hears = json!({ "url": "https://127.0.0.1:9/", "events": ["payment.completed"] });
        let endpoint = api.post("/api/v1/webhooks", &hears).await.data();
        let deposit = draft::steered(draft::deposit_mxn(amount), "stay");
        let id = api.create(&deposit).await.ok()["transaction_id"].as_str().expect("an id").to_owned();
        let path = format!("/operator/v1/payments/{id}/complete");
        gateway.operator().post_empty(&path).await.data();
        (id, format!("/api/v1/webhooks/{}/events", endpoint["id"].as_str().expect("an id")))
    };
    let (of_live, in_test) = (completed(&live, 700).await, completed(&merchant.api, 300).await);
    let balance = async |api: &Client| {
        let record = api.get("/api/v1/balance").await.ok();
        ["available_amount", "frozen_amount"].map(|member| record[member].as_str().map(str::to_owned))
    };
    let of = |available: &str, frozen: &str| [Some(available.to_owned()), Some(frozen.to_owned())];
    for (api, (id, log), (_, others), amount) in
        [(&live, &of_live, &in_test, "700"), (&merchant.api, &in_test, &of_live, "300")]
    {
        assert_eq!(balance(api).await, of(amount, "0"));
        let told = api.get(log).await.ok();
        assert_eq!(
            (&told["total"], &told["data"][0]["type"]),
            (&json!(1), &json!("payment.completed")),
            "{told}"
        );
        let listed = api.get("/api/v1/payments").await.ok();
        assert_eq!((&listed["total"], &listed["data"][0]["transaction_id"]), (&json!(1), &json!(id)));
        api.get(others).await.refused(404, "WEBHOOK_NOT_FOUND");
    }
    let withdrawal = |amount: i64| -> Value {
        let payout = json!({ "bank_account": "032180000118359719", "recipient_name": "Ana" });
        draft::withdrawal("MXN", "spei", amount, payout)
    };
    live.create(&withdrawal(800)).await.refused(400, "INSUFFICIENT_BALANCE");
    merchant.api.create(&withdrawal(400)).await.refused(400, "INSUFFICIENT_BALANCE");
    live.create(&withdrawal(700)).await.ok();
    assert_eq!((balance(&live).await, balance(&merchant.api).await), (of("0", "700"), of("300", "0")));
    gateway.check();
}
