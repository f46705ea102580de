//! A merchant created for one test.

use serde_json::{Value, json};

use crate::{Client, eventually, scratch::unique_name};

/// A version 1 merchant with a key for the test environment.
#[derive(Debug, Clone)]
pub struct Merchant {
    /// Its number.
    pub id: i64,
    /// Its client, with all scopes.
    pub api: Client,
    operator: Client,
}

impl Merchant {
    pub(crate) async fn onboard(operator: &Client, anonymous: &Client) -> Self {
        let body = json!({ "name": unique_name("Merchant") });
        let merchant = operator.post("/operator/v1/merchants", &body).await.data();
        let id = merchant["merchant_id"].as_i64().expect("merchant_id is a number");
        let (operator, anonymous) = (operator.clone(), anonymous.clone());
        let mut made = Self { id, api: anonymous, operator };
        made.api = made.key(&json!({})).await;
        made
    }

    /// The same merchant at a gateway's new address.
    pub fn moved_to(&self, gateway: &crate::Gateway) -> Self {
        let at = gateway.anonymous();
        Self { id: self.id, api: self.api.moved_to(&at), operator: self.operator.moved_to(&at) }
    }

    /// Issues another key of this merchant; `wishes` overrides `environment` (`test`), `name`, `scopes`
    /// (all), `expires_at`, `rate_limits`.
    pub async fn key(&self, wishes: &Value) -> Client {
        self.api.with_api_key(self.issue(wishes).await["key"].as_str().expect("the key is shown once"))
    }

    /// Issues a key; returns the operator's whole answer.
    pub async fn issue(&self, wishes: &Value) -> Value {
        let mut body = json!({ "environment": "test", "name": "test key" });
        for (member, value) in wishes.as_object().expect("wishes are an object") {
            body[member] = value.clone();
        }
        self.operator.post(&self.operator_path("/api-keys"), &body).await.data()
    }

    /// Adds to (or takes from) its available test balance.
    pub async fn fund(&self, currency: &str, amount: i64) {
        let body =
            json!({ "environment": "test", "currency": currency, "amount": amount, "reason": "pre-funding" });
        self.operator.post(&self.operator_path("/adjustments"), &body).await.data();
    }

    /// Its routes, as the operator sees them.
    pub async fn routes(&self) -> Vec<Value> {
        let mut data = self.operator.get(&self.operator_path("/routes")).await.data();
        match data["routes"].take() {
            Value::Array(routes) => routes,
            other => panic!("routes are a list, not {other}"),
        }
    }

    /// Lets `change` edit every route, and writes the whole list back.
    pub async fn edit_routes(&self, change: impl FnMut(&mut Value)) {
        let mut routes = self.routes().await;
        routes.iter_mut().for_each(change);
        self.put_routes(&routes).await;
    }

    /// Writes the routes back with more at the end.
    pub async fn add_routes(&self, more: impl IntoIterator<Item = Value>) {
        let mut routes = self.routes().await;
        routes.extend(more);
        self.put_routes(&routes).await;
    }

    async fn put_routes(&self, routes: &[Value]) {
        self.operator.put(&self.operator_path("/routes"), &json!({ "routes": routes })).await.data();
    }

    /// `/operator/v1/merchants/{id}` followed by `rest`.
    pub fn operator_path(&self, rest: &str) -> String {
        format!("/operator/v1/merchants/{}{rest}", self.id)
    }

    /// (available, frozen) of its main test balance.
    pub async fn balance(&self, currency: &str) -> (i64, i64) {
        let record = self.balance_record(currency, "main").await;
        (minor(&record["available_amount"]), minor(&record["frozen_amount"]))
    }

    /// `balance_amount` of one balance type.
    pub async fn balance_of(&self, currency: &str, balance_type: &str) -> i64 {
        minor(&self.balance_record(currency, balance_type).await["balance_amount"])
    }

    /// The balance record.
    pub async fn balance_record(&self, currency: &str, balance_type: &str) -> Value {
        let path = format!("/api/v1/balance?currency={currency}&balance_type={balance_type}");
        self.api.get(&path).await.ok()
    }

    /// Creates a payment that must be accepted; returns its id.
    pub async fn create(&self, draft: &Value) -> String {
        let answer = self.api.create(draft).await.ok();
        answer["transaction_id"].as_str().expect("transaction_id is a string").to_owned()
    }

    /// Waits until a payment has this status; returns its record.
    pub async fn wait_for(&self, id: &str, status: &str) -> Value {
        eventually(&format!("{id} to be {status}"), async || {
            let payment = self.api.payment(id).await;
            (payment["status"] == status).then_some(payment)
        })
        .await
    }
}

/// Parses an amount written as text.
#[track_caller]
fn minor(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("a monetary string, not {value}"));
    text.parse().unwrap_or_else(|_| panic!("an integer in minor units, not {text:?}"))
}
