//! `/healthz`, `/readyz`, and starting and stopping.

use quipu_tests::{Database, Gateway, on_both_databases};

on_both_databases!(health_and_readiness_need_no_credentials, it_stops_and_starts_again_on_the_same_data);

async fn health_and_readiness_need_no_credentials(database: Database) {
    let gateway = Gateway::start(database).await;
    gateway.anonymous().get("/healthz").await.ok();
    let ready = gateway.anonymous().get("/readyz").await;
    ready.ok();
    for part in ["database", "migrations"] {
        assert!(ready.text.contains(part), "{part} is not named: {ready}");
    }
}

async fn it_stops_and_starts_again_on_the_same_data(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_234).await;
    let before = gateway.credential("/v1/api_key");
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    assert_eq!(gateway.credential("/v1/api_key"), before, "the demo merchant is the same");
    assert_eq!(merchant.moved_to(&gateway).balance("MXN").await, (1_234, 0));
    gateway.check();
}
