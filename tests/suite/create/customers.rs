//! The customer of a payment: found again, or made.

use quipu_tests::{
    Database, Gateway,
    draft::{self, with},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(a_known_customer_needs_no_address, customers_are_matched_by_email_then_phone,);

fn deposit() -> Value {
    draft::deposit_mxn(1_000)
}

async fn a_known_customer_needs_no_address(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let first =
        merchant.api.create(&with(deposit(), "/customer", json!({ "phone": "+52 55 1234" }))).await.ok();
    let id = first["customer_id"].as_i64().expect("customer_id is a number");
    let known = with(with(deposit(), "/customer", json!({ "name": "Ana" })), "/customer_id", json!(id));
    let second = merchant.api.create(&known).await.ok();
    assert_eq!(second["customer_id"], id);
    // What the request leaves out is what is known of the customer.
    assert_eq!(second["customer"], json!({ "id": id, "name": "Ana", "email": null, "phone": "+52 55 1234" }));
    merchant.api.create(&with(known.clone(), "/customer", json!({}))).await.invalid("customer");
    // Another merchant's customer is as unknown as one that does not exist.
    let stranger = gateway.merchant().await;
    stranger.api.create(&known).await.invalid("customer_id");
}

async fn customers_are_matched_by_email_then_phone(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let customer_of = async |customer: Value| {
        let answer = merchant.api.create(&with(deposit(), "/customer", customer)).await.ok();
        assert_eq!(answer["customer"]["id"], answer["customer_id"]);
        answer["customer_id"].as_i64().expect("customer_id is a number")
    };
    let ana = customer_of(json!({ "name": "Ana", "email": "Ana@Example.com", "phone": "+52 55 1234" })).await;
    assert_eq!(customer_of(json!({ "email": "ana@example.COM" })).await, ana);
    assert_eq!(customer_of(json!({ "phone": "52551234" })).await, ana);
    assert_ne!(customer_of(json!({ "email": "bea@example.com" })).await, ana);
    assert_ne!(customer_of(json!({ "phone": "99" })).await, ana);
    // An e-mail address that nobody has is somebody else, whoever has the telephone.
    assert_ne!(customer_of(json!({ "email": "ben@example.com", "phone": "52551234" })).await, ana);
}
