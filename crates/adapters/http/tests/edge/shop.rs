//! A merchant in memory, whose every exchange is held against the documents.

use actix_web::{
    dev::Service as _,
    test::{self, TestRequest},
};
use quipu_kernel::Tenant;
use quipu_merchants::{Actor, ApiVersion, NewApiKey, RateLimits, Role, Scopes};
use quipu_tests::{Answer, assert_documented};
use serde_json::{Value, json};

use crate::world::{Application, World, request};

/// A version 1 merchant with a key for the test environment, and empty balances.
pub(crate) struct Shop {
    app: Application,
    key: String,
    adjustments: String,
    operator: String,
}

impl Shop {
    /// The only merchant of a world of its own.
    pub(crate) async fn open() -> Self {
        let world = World::new();
        let merchant = world.merchant(ApiVersion::V1).await;
        let plenty = Some(1_000_000);
        let key = NewApiKey {
            tenant: Tenant::new(merchant, quipu_kernel::Environment::Test),
            name: "a key".to_owned(),
            scopes: Scopes::all(),
            rate_limits: RateLimits {
                create_per_minute: plenty,
                create_per_10s: plenty,
                standard_per_minute: plenty,
            },
            expires_at: None,
        };
        let key = world.onboarding.issue_api_key(key, Actor::shell()).await.expect("a key");
        let operator = world.operator(Role::Admin).await;
        Self {
            app: world.application().await,
            key: key.secret.expose().to_owned(),
            adjustments: format!("/operator/v1/merchants/{merchant}/adjustments"),
            operator,
        }
    }

    /// A `GET` with the key.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = request("GET", path).insert_header(("X-API-Key", self.key.as_str()));
        self.call("GET", path, request, None).await
    }

    /// `POST` of JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string()).await
    }

    /// Creates a payment.
    pub(crate) async fn create(&self, draft: &Value) -> Answer {
        self.post_bytes("/api/v1/payments", draft.to_string()).await
    }

    /// `POST` of any bytes, sent as JSON.
    pub(crate) async fn post_bytes(&self, path: &str, body: String) -> Answer {
        let request = request("POST", path).insert_header(("X-API-Key", self.key.as_str()));
        self.send(request, path, body).await
    }

    /// Adds to its available balance.
    pub(crate) async fn fund(&self, currency: &str, amount: i64) {
        let body =
            json!({ "environment": "test", "currency": currency, "amount": amount, "reason": "pre-funding" });
        let request =
            request("POST", &self.adjustments).insert_header(("Authorization", self.operator.as_str()));
        self.send(request, &self.adjustments, body.to_string()).await.data();
    }

    async fn send(&self, request: TestRequest, path: &str, body: String) -> Answer {
        let request = request.insert_header(("Content-Type", "application/json")).set_payload(body.clone());
        self.call("POST", path, request, Some(body)).await
    }

    async fn call(&self, method: &str, path: &str, request: TestRequest, body: Option<String>) -> Answer {
        let response = self.app.call(request.to_request()).await.expect("an answer");
        let status = response.status().as_u16();
        let headers: Vec<_> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let text = String::from_utf8(test::read_body(response).await.to_vec()).expect("UTF-8");
        let answer = Answer::new(status, headers, text);
        assert_documented(method, path, body.as_ref().map(String::as_bytes), &answer);
        answer
    }
}
