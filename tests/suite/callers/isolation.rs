//! Another merchant's things, and one's own in the other environment, are not there.

use quipu_tests::{Client, Database, Gateway, Table, draft, on_both_databases};
use reqwest::Method;
use serde_json::json;

on_both_databases!(every_path_with_an_id_is_closed_to_strangers);

async fn every_path_with_an_id_is_closed_to_strangers(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    merchant.fund("ARS", 1_000).await;
    let payment = merchant.create(&draft::steered(draft::withdrawal_ars(100), "hold")).await;
    let live = merchant.key(&json!({ "environment": "live" })).await;
    let token = stranger.api.post_empty("/api/v1/auth/token").await.ok();
    let stranger_bearer = gateway.anonymous().with_bearer(token["access_token"].as_str().expect("a token"));
    let paths = [
        (Method::GET, format!("/api/v1/payments/{payment}"), "PAYMENT_NOT_FOUND"),
        (Method::POST, format!("/api/v1/payments/{payment}/cancel"), "PAYMENT_NOT_FOUND"),
        (Method::GET, format!("/api/v1/merchants/{}", merchant.id), "MERCHANT_NOT_FOUND"),
        (Method::GET, format!("/api/v1/merchants/{}/balance", merchant.id), "MERCHANT_NOT_FOUND"),
        (Method::GET, format!("/api/v1/merchants/{}/balance/all", merchant.id), "MERCHANT_NOT_FOUND"),
    ];
    let mut table = Table::new();
    let callers: [(&str, &Client); 3] = [
        ("another merchant", &stranger.api),
        ("its token", &stranger_bearer),
        ("the other environment", &live),
    ];
    for (who, caller) in callers {
        for (method, path, code) in &paths {
            // A merchant is one in both environments; only what lies in them is apart.
            if who == "the other environment" && *code == "MERCHANT_NOT_FOUND" {
                continue;
            }
            let answer = caller.send(method.clone(), path, None, &[]).await;
            table.refused(format!("{method} {path} by {who}"), &answer, 404, code);
        }
    }
    let path = format!("/api/v2/payments/{payment}");
    table.refused("version 2", &gateway.v2().get(&path).await, 404, "PAYMENT_NOT_FOUND");
    table.finish();
    assert_eq!(merchant.api.payment(&payment).await["status"], "pending");
    let balance = live.get(&format!("/api/v1/merchants/{}/balance?currency=ARS", merchant.id)).await.ok();
    assert_eq!(balance["balance_amount"], "0");
}
