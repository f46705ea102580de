//! The merchants of these scenarios.

use quipu_tests::{Client, Gateway, Merchant, signature::Signer};
use serde_json::{Value, json};

/// A version 2 merchant with one credential for the test environment.
#[derive(Debug, Clone)]
pub(super) struct SigningMerchant {
    pub(super) id: i64,
    pub(super) credential_id: String,
    pub(super) signer: Signer,
    operator: Client,
}

impl SigningMerchant {
    pub(super) async fn onboard(gateway: &Gateway) -> Self {
        let operator = gateway.operator();
        let body = json!({ "name": "Signs its requests", "api_version": "v2" });
        let merchant = operator.post("/operator/v1/merchants", &body).await.data();
        let id = merchant["merchant_id"].as_i64().expect("merchant_id is a number");
        let none = Signer { merchant_id: id.to_string(), secret: String::new() };
        let mut made = Self { id, credential_id: String::new(), signer: none, operator };
        (made.credential_id, made.signer) = made.issue("test").await;
        made
    }

    /// Another credential: its id, and who signs with it.
    pub(super) async fn issue(&self, environment: &str) -> (String, Signer) {
        let made = self.issue_as(&json!({ "environment": environment })).await;
        let secret = made["secret"].as_str().expect("the secret is shown once").to_owned();
        (text(&made, "credential_id"), Signer { merchant_id: self.id.to_string(), secret })
    }

    /// Issues a credential as `body` describes it; returns the operator's whole answer.
    pub(super) async fn issue_as(&self, body: &Value) -> Value {
        self.operator.post(&self.path("/hmac-credentials"), body).await.data()
    }

    pub(super) async fn fund(&self, currency: &str, amount: i64) {
        let body =
            json!({ "environment": "test", "currency": currency, "amount": amount, "reason": "pre-funding" });
        self.operator.post(&self.path("/adjustments"), &body).await.data();
    }

    /// (available, frozen) of its main balance, as its own signed read shows them.
    pub(super) async fn balance(&self, gateway: &Gateway, currency: &str) -> (String, String) {
        let path = format!("/api/v2/balance?currency={currency}");
        let record = self.signer.get(&path).send(&gateway.anonymous()).await.ok();
        (text(&record, "available_amount"), text(&record, "frozen_amount"))
    }

    pub(super) fn path(&self, rest: &str) -> String {
        format!("/operator/v1/merchants/{}{rest}", self.id)
    }
}

/// Issues a key and answers its id with it.
pub(super) async fn key_with_id(merchant: &Merchant, wishes: &Value) -> (String, String) {
    let made = merchant.issue(wishes).await;
    (text(&made, "key_id"), text(&made, "key"))
}

/// Suspends a merchant, or lets it act again.
pub(super) async fn set_status(operator: &Client, merchant_id: i64, status: &str) {
    let path = format!("/operator/v1/merchants/{merchant_id}");
    operator.patch(&path, &json!({ "status": status })).await.data();
}

/// A member that must be text.
#[track_caller]
pub(super) fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("{member} is no text in {value}")).to_owned()
}

/// A refusal in the shape of an authentication error.
#[track_caller]
pub(super) fn refused_401(answer: &quipu_tests::Answer, code: &str) {
    let body = answer.refused(401, code);
    assert_eq!(body["error"], "Unauthorized", "{body}");
    assert!(body["message"].is_string(), "{body}");
}
