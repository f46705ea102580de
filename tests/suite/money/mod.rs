//! Money moves: rails, callbacks, refunds, receipts, bank files.

mod bank;
mod bank_routes;
mod bank_texts;
mod books;
mod callbacks;
mod chaos;
mod decisions;
mod keys;
mod provider_calls;
mod races;
mod receipts;
mod refunds;
mod remote;
mod shell;
mod steering;
mod submission;
mod time;
mod timeline;

use quipu_tests::{Gateway, Merchant, provider::Provider};
use serde_json::{Value, json};

/// A merchant whose SPEI deposits and Argentine withdrawals go over this provider.
async fn merchant_on(gateway: &Gateway, provider: &Provider) -> Merchant {
    let merchant = gateway.merchant().await;
    let rail = provider.rail();
    merchant.edit_routes(|route| route["rail"] = json!(rail)).await;
    merchant
}

/// The operator's view of a payment.
async fn seen(gateway: &Gateway, id: &str) -> Value {
    gateway.operator().get(&format!("/operator/v1/payments/{id}")).await.data()
}

/// The lines of the audit log about a payment, oldest first.
async fn audited(gateway: &Gateway, id: &str) -> Vec<Value> {
    let listed = gateway.operator().get("/operator/v1/audit-log?limit=100").await.ok();
    let subject = format!("payment/{id}");
    let lines = listed["data"].as_array().expect("lines").iter().rev();
    lines.filter(|line| line["subject"] == subject.as_str()).cloned().collect()
}

/// How many events of this type the payment's timeline has.
fn events(view: &Value, kind: &str) -> usize {
    let events = view["timeline"]["events"].as_array().expect("events");
    events.iter().filter(|event| event["type"] == kind).count()
}
