//! Deposits on a rail that issues their instructions remotely.

use quipu_tests::{
    Database, Gateway, Merchant, Setup, draft, eventually, on_both_databases,
    provider::{Behaviour, Endpoint, Provider},
};
use serde_json::{Value, json};

use super::{merchant_on, seen};

on_both_databases!(
    instructions_come_from_the_provider,
    a_provider_hears_which_scheme_to_offer_and_where_the_payer_goes_afterwards,
    a_refusal_fails_the_payment_and_is_the_answer,
    silence_is_an_unknown_outcome_that_is_asked_about,
    an_unknown_creation_under_a_key_becomes_its_payment,
    a_dead_provider_is_left_alone_and_delays_nobody,
    a_creation_that_died_half_way_is_finished,
);

async fn world(database: Database) -> (Gateway, Provider, Merchant) {
    let provider = Provider::start().await;
    let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "300ms,500ms");
    let gateway = setup.start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    (gateway, provider, merchant)
}

async fn instructions_come_from_the_provider(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let answer = merchant.api.create(&draft::deposit_mxn(1_000)).await.ok();
    assert_eq!(answer["bank_details"]["bank_name"], "Bank of Tests");
    assert_eq!((&answer["status"], &answer["status_version"]), (&json!("processing"), &json!(1)));
    let id = answer["transaction_id"].as_str().expect("an id");
    assert_eq!(merchant.api.payment(id).await["bank_details"], answer["bank_details"]);
    let order = provider.order(id).expect("taken on");
    assert_eq!((&order.body["rail_reference"], order.times), (&json!(id), 1));
    assert_eq!(order.body["customer"]["email"], "ana@example.com");
    assert!(order.body["expires_at"].is_string());
    assert_eq!((&order.body["environment"], order.body.get("payout")), (&json!("test"), None));
    // Its status is asked about without anybody calling back.
    provider.settle(id, "completed");
    merchant.wait_for(id, "completed").await;
    assert_eq!(merchant.balance("MXN").await, (1_000, 0));
    assert_eq!(seen(&gateway, id).await["provider_reference"], "their-own-7");
    assert_eq!(merchant.api.payment(id).await.get("provider_reference"), None, "it is for staff");
    assert_eq!(provider.unsigned_calls(), 0);
    gateway.check();
}

async fn a_provider_hears_which_scheme_to_offer_and_where_the_payer_goes_afterwards(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let mut draft = draft::deposit("LKR", "redirectpay", 1_000);
    draft["redirectpay"] = json!({ "payment_method": "VISA" });
    draft["return_urls"] = json!({ "success_url": "https://shop.example/paid" });
    let id = merchant.create(&draft).await;
    let order = provider.order(&id).expect("taken on").body;
    assert_eq!(order["redirectpay"], draft["redirectpay"]);
    assert_eq!(order["return_urls"]["success_url"], "https://shop.example/paid");
    gateway.check();
}

async fn a_refusal_fails_the_payment_and_is_the_answer(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Instructions, [Behaviour::Reject]);
    let draft = draft::deposit_mxn(1_000);
    let key = [("Idempotency-Key", "refused")];
    let answer = merchant.api.post_with("/api/v1/payments", &draft, &key).await;
    let record = answer.ok();
    assert_eq!((&record["status"], &record["failure"]["code"]), (&json!("failed"), &json!("RAIL_REJECTED")));
    let again = merchant.api.post_with("/api/v1/payments", &draft, &key).await;
    assert_eq!(again.text, answer.text);
    // The reference is free again.
    merchant.create(&draft).await;
    gateway.check();
}

async fn silence_is_an_unknown_outcome_that_is_asked_about(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let nonsense = [Behaviour::TakeAndTalkNonsense, Behaviour::TakeAndFail, Behaviour::Close];
    provider.next(Endpoint::Instructions, nonsense);
    let answer = merchant.api.create(&draft::deposit_mxn(1_000)).await;
    let refused = answer.refused(504, "payment_create_outcome_unknown");
    let id = refused["transaction_id"].as_str().expect("a transaction_id").to_owned();
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    let record = eventually("the instructions to come", async || {
        let record = merchant.api.payment(&id).await;
        record["bank_details"].is_object().then_some(record)
    })
    .await;
    assert_eq!((&record["status"], &record["status_version"]), (&json!("processing"), &json!(1)));
    assert_eq!(provider.orders().len(), 1, "one reference for ever");
    let log = gateway.log();
    let told = log.lines().find(|line| line.contains("the outcome of a creation is unknown"));
    let is_explained =
        told.is_some_and(|line| line.contains(&id) && line.contains("the rail gave no answer"));
    assert!(is_explained, "{told:?}");
    gateway.check();
}

async fn an_unknown_creation_under_a_key_becomes_its_payment(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Instructions, [Behaviour::Close; 3]);
    let draft = draft::deposit_mxn(1_000);
    let key = [("Idempotency-Key", "unknown")];
    let post = async || merchant.api.post_with("/api/v1/payments", &draft, &key).await;
    let first = post().await.refused(504, "payment_create_outcome_unknown");
    let known = eventually("the outcome to be known", async || {
        let again = post().await;
        assert_eq!(again.json()["transaction_id"], first["transaction_id"]);
        (again.status == 200).then_some(again)
    })
    .await;
    assert!(known.json()["bank_details"].is_object(), "{known}");
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

async fn a_dead_provider_is_left_alone_and_delays_nobody(database: Database) {
    let provider = Provider::start().await;
    let gateway = provider.configure(Setup::new(database)).start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    let other = gateway.merchant().await;
    drop(provider);
    for _ in 0..5 {
        let answer = merchant.api.create(&draft::deposit_mxn(1_000)).await;
        answer.refused(504, "payment_create_outcome_unknown");
    }
    let refused = merchant.api.create(&draft::deposit_mxn(1_000)).await;
    refused.refused(503, "OVERLOADED");
    assert!(refused.header("Retry-After").is_some());
    assert_eq!(merchant.api.get("/api/v1/payments").await.ok()["total"], 5, "refused before any commit");
    eventually("the log to tell why", async || {
        let log = gateway.log();
        let told =
            ["a provider gave no answer that can be used", "Connection refused", "the circuit is open"];
        told.iter().all(|words| log.contains(words)).then_some(())
    })
    .await;
    merchant.fund("ARS", 1_000).await;
    let waits = merchant.create(&draft::withdrawal_ars(100)).await;
    let id = other.create(&draft::deposit_mxn(1_000)).await;
    other.wait_for(&id, "completed").await;
    assert_eq!(merchant.api.payment(&waits).await["status"], "pending");
    merchant.api.post_empty(&format!("/api/v1/payments/{waits}/cancel")).await.data();
    gateway.check();
}

async fn a_creation_that_died_half_way_is_finished(database: Database) {
    let (mut gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Instructions, [Behaviour::TakeAndHang]);
    let api = merchant.api.clone();
    let draft = draft::deposit_mxn(1_000);
    let calling = tokio::spawn(async move {
        let body = Some(draft.to_string().into_bytes());
        let _ = api.try_send(reqwest::Method::POST, "/api/v1/payments", body, &[]).await;
    });
    let order = eventually("the provider to hear of it", async || provider.orders().pop()).await;
    gateway.kill();
    calling.abort();
    gateway.restart().await;
    let merchant = merchant.moved_to(&gateway);
    let id = order.body["rail_reference"].as_str().expect("a reference").to_owned();
    let record: Value = eventually("the instructions to come", async || {
        let record = merchant.api.payment(&id).await;
        record["bank_details"].is_object().then_some(record)
    })
    .await;
    assert_eq!(record["status_version"], 1);
    assert_eq!(provider.orders().len(), 1);
    gateway.check();
}
