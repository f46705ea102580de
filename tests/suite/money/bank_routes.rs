//! Which withdrawals a bank file takes: those of its own merchant, environment and route, which wait for a person.

use quipu_tests::{
    Client, Database, Gateway, Merchant, Setup, draft, eventually, on_both_databases, provider::Provider,
};
use serde_json::{Value, json};

use super::{
    bank::{export, merchant_by_hand},
    merchant_on,
};

on_both_databases!(a_file_has_only_what_the_manual_rail_sends_over_its_route);

/// A withdrawal that a person has submitted.
async fn submitted(gateway: &Gateway, api: &Client, draft: &Value) -> String {
    let created = api.create(draft).await.ok();
    let id = created["transaction_id"].as_str().expect("an identifier").to_owned();
    gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
    id
}

fn by(currency: &str, method: &str) -> Value {
    let payout = match method {
        "spei" => json!({ "bank_account": "032180000118359719", "recipient_name": "Ana" }),
        _ => json!({ "bank_account": "12345678", "bsb": "062000", "recipient_name": "Ana" }),
    };
    draft::withdrawal(currency, method, 500, payout)
}

/// From now on a person pays what comes over two of the routes, one of them in both environments.
async fn pay_by_hand(merchant: &Merchant) {
    let account = json!({
        "bank_name": "Bank", "account_holder": "Quipu", "account_number": "646180157000000004", "bsb": "062000",
    });
    merchant
        .edit_routes(|route| {
            if route["currency"] == "MXN" || route["currency"] == "AUD" && route["method"] == "bank_transfer"
            {
                (route["rail"], route["instructions"]) = (json!("manual"), account.clone());
            }
        })
        .await;
    let routes = merchant.routes().await.into_iter().filter(|route| route["currency"] == "MXN");
    let live = routes.map(|mut route| {
        route["environment"] = json!("live");
        route
    });
    merchant.add_routes(live).await;
}

async fn a_file_has_only_what_the_manual_rail_sends_over_its_route(database: Database) {
    let provider = Provider::start().await;
    let gateway = provider.configure(Setup::new(database)).start().await;
    let (merchant, other) = (merchant_on(&gateway, &provider).await, merchant_by_hand(&gateway).await);
    let live = merchant.key(&json!({ "environment": "live" })).await;
    for (merchant, currency) in [(&merchant, "MXN"), (&merchant, "AUD"), (&other, "MXN")] {
        merchant.fund(currency, 10_000).await;
    }
    let body = json!({ "environment": "live", "currency": "MXN", "amount": 10_000, "reason": "pre-funding" });
    gateway.operator().post(&merchant.operator_path("/adjustments"), &body).await.data();

    let at_the_provider = merchant.create(&by("MXN", "spei")).await;
    eventually("the provider to take it on", async || provider.order(&at_the_provider)).await;
    merchant.wait_for(&at_the_provider, "processing").await;
    pay_by_hand(&merchant).await;
    let mine = submitted(&gateway, &merchant.api, &by("MXN", "spei")).await;
    let theirs = submitted(&gateway, &other.api, &by("MXN", "spei")).await;
    submitted(&gateway, &merchant.api, &by("AUD", "bank_transfer")).await;
    submitted(&gateway, &live, &by("MXN", "spei")).await;

    let file = || std::fs::read_to_string(gateway.data_folder().join("out.xml")).expect("the file");
    for (merchant, id) in [(&merchant, &mine), (&other, &theirs)] {
        let told = export(&gateway, merchant);
        assert_eq!((&told["payments"], &told["left_out"]), (&json!(1), &json!([])), "{told}");
        assert!(file().contains(id.as_str()), "{}", file());
        assert_eq!(export(&gateway, merchant)["payments"], 0, "nothing else is in a later one");
    }
    gateway.check();
}
