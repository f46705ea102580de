//! The interface as a table: every route, and what a caller needs there. `quipu routes` prints the gateway's own.

use std::collections::BTreeSet;

use quipu_tests::{Database, Gateway};
use reqwest::Method;
use serde_json::{Value, json};

/// What opens a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nobody,
    /// A key or token with this scope.
    Scope(&'static str),
    /// An API key itself, of any scope.
    Key,
    /// A signature; credentials have every scope, but tokens made by them need this one.
    Signature(Option<&'static str>),
    /// A URL that the gateway has signed.
    Url,
    /// The signature of a configured provider.
    Provider,
    /// The token of an operator of this role, or of an admin.
    Operator(&'static str),
}

/// One route as the gateway publishes it.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) needs: Needs,
}

use Needs::{Key, Nobody, Operator, Provider, Scope, Signature, Url};

/// A method, a path, and what a caller needs there. An endpoint that is added without a row in these tables
/// fails `the_table_names_every_route_the_gateway_has`; what names a payment, webhook or ticket is tested
/// against those of others. Every scope meets every route in `crates/adapters/http/tests/edge/scopes.rs`.
type Row = (&'static str, &'static str, Needs);

/// What merchants call.
const OF_MERCHANTS: &[Row] = &[
    ("POST", "/api/v1/auth/token", Key),
    ("POST", "/api/v1/payments", Scope("payments.create")),
    ("GET", "/api/v1/payments", Scope("payments.read")),
    ("GET", "/api/v1/payments/methods", Scope("payments.methods")),
    ("POST", "/api/v1/payments/methods/validate", Scope("payments.methods")),
    ("GET", "/api/v1/payments/{id}", Scope("payments.read")),
    ("POST", "/api/v1/payments/{id}/cancel", Scope("payments.cancel")),
    ("POST", "/api/v1/webhooks", Scope("webhooks.create")),
    ("GET", "/api/v1/webhooks", Scope("webhooks.read")),
    ("GET", "/api/v1/webhooks/{id}", Scope("webhooks.read")),
    ("PUT", "/api/v1/webhooks/{id}", Scope("webhooks.update")),
    ("DELETE", "/api/v1/webhooks/{id}", Scope("webhooks.delete")),
    ("PUT", "/api/v1/webhooks/{id}/enable", Scope("webhooks.update")),
    ("PUT", "/api/v1/webhooks/{id}/disable", Scope("webhooks.update")),
    ("POST", "/api/v1/webhooks/{id}/test", Scope("webhooks.update")),
    ("GET", "/api/v1/webhooks/{id}/events", Scope("webhooks.read")),
    ("POST", "/api/v1/webhooks/{id}/retry", Scope("webhooks.update")),
    ("GET", "/api/v1/balance", Scope("balance.read")),
    ("GET", "/api/v1/balance/all", Scope("balance.read")),
    ("GET", "/api/v1/merchants/{id}", Scope("webhooks.read")),
    ("GET", "/api/v1/merchants/{id}/balance", Scope("balance.read")),
    ("GET", "/api/v1/merchants/{id}/balance/all", Scope("balance.read")),
    ("POST", "/api/v1/tickets", Scope("tickets.create")),
    ("GET", "/api/v1/tickets", Scope("tickets.read")),
    ("GET", "/api/v1/tickets/{id}", Scope("tickets.read")),
    ("POST", "/api/v1/tickets/{id}/close", Scope("tickets.update")),
    ("POST", "/api/v1/tickets/{id}/reopen", Scope("tickets.update")),
    ("POST", "/api/v1/tickets/{id}/comments", Scope("tickets.update")),
    ("GET", "/api/v1/tickets/{id}/comments", Scope("tickets.read")),
    ("POST", "/api/v1/tickets/{id}/upload-url", Scope("tickets.update")),
    ("GET", "/api/v1/tickets/{id}/attachments/{attachment_id}", Scope("tickets.read")),
    ("GET", "/api/v1/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}", Scope("tickets.read")),
    ("POST", "/api/v2/auth/token", Signature(None)),
    ("POST", "/api/v2/payments", Signature(Some("payments.create"))),
    ("GET", "/api/v2/payments/{id}", Signature(Some("payments.read"))),
    ("GET", "/api/v2/balance", Signature(Some("balance.read"))),
    ("GET", "/api/v2/balance/all", Signature(Some("balance.read"))),
];

/// What the operator's staff call.
const OF_STAFF: &[Row] = &[
    ("POST", "/operator/v1/merchants", Operator("admin")),
    ("GET", "/operator/v1/merchants", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}", Operator("admin")),
    ("PATCH", "/operator/v1/merchants/{id}", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/rotate-webhook-secret", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/api-keys", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}/api-keys", Operator("admin")),
    ("DELETE", "/operator/v1/merchants/{id}/api-keys/{key_id}", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/hmac-credentials", Operator("admin")),
    ("DELETE", "/operator/v1/merchants/{id}/hmac-credentials/{credential_id}", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/switch", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}/routes", Operator("admin")),
    ("PUT", "/operator/v1/merchants/{id}/routes", Operator("admin")),
    ("PUT", "/operator/v1/merchants/{id}/page", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}/page", Operator("admin")),
    ("DELETE", "/operator/v1/merchants/{id}/page", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/beneficiaries", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}/beneficiaries", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/webhooks", Operator("admin")),
    ("GET", "/operator/v1/merchants/{id}/webhooks", Operator("admin")),
    ("POST", "/operator/v1/merchants/{id}/adjustments", Operator("finance")),
    ("GET", "/operator/v1/payments", Operator("viewer")),
    ("GET", "/operator/v1/payments/{payment_id}", Operator("viewer")),
    ("POST", "/operator/v1/payments/{payment_id}/submit", Operator("finance")),
    ("POST", "/operator/v1/payments/{payment_id}/complete", Operator("finance")),
    ("POST", "/operator/v1/payments/{payment_id}/fail", Operator("finance")),
    ("POST", "/operator/v1/payments/{payment_id}/return", Operator("finance")),
    ("POST", "/operator/v1/payments/{payment_id}/refunds", Operator("finance")),
    ("GET", "/operator/v1/payments/{payment_id}/refunds", Operator("finance")),
    ("GET", "/operator/v1/receipts", Operator("finance")),
    ("POST", "/operator/v1/receipts/{receipt_id}/resolve", Operator("finance")),
    ("GET", "/operator/v1/ledger/check", Operator("finance")),
    ("GET", "/operator/v1/ledger/chains", Operator("finance")),
    ("GET", "/operator/v1/audit-log", Operator("finance")),
    ("GET", "/operator/v1/tickets", Operator("support")),
    ("GET", "/operator/v1/tickets/{id}", Operator("support")),
    ("POST", "/operator/v1/tickets/{id}/assign", Operator("support")),
    ("POST", "/operator/v1/tickets/{id}/status", Operator("support")),
    ("GET", "/operator/v1/tickets/{id}/comments", Operator("support")),
    ("POST", "/operator/v1/tickets/{id}/comments", Operator("support")),
    ("GET", "/operator/v1/tickets/{id}/attachments/{attachment_id}", Operator("support")),
    ("GET", "/operator/v1/openapi.json", Nobody),
    ("POST", "/operator/v1/operators", Operator("admin")),
    ("GET", "/operator/v1/operators", Operator("admin")),
    ("DELETE", "/operator/v1/operators/{operator_id}", Operator("admin")),
];

/// What payers, providers, browsers and programs that watch over the gateway call.
const OF_OTHERS: &[Row] = &[
    ("GET", "/healthz", Nobody),
    ("GET", "/readyz", Nobody),
    ("GET", "/.well-known/jwks.json", Nobody),
    ("GET", "/", Nobody),
    ("GET", "/guides/{name}", Nobody),
    ("GET", "/assets/{name}", Nobody),
    ("GET", "/logos/{name}", Nobody),
    ("GET", "/payment-pages/{token}", Nobody),
    ("GET", "/payment-pages/{token}/details", Nobody),
    ("GET", "/payment-pages/{token}/events", Nobody),
    ("GET", "/payment-pages/{token}/recipient", Nobody),
    ("POST", "/payment-pages/{token}/recipient", Nobody),
    ("GET", "/simulated-scheme/{payment_id}", Nobody),
    ("POST", "/simulated-scheme/{payment_id}", Nobody),
    ("PUT", "/uploads/{environment}/{merchant}/{ticket}/{attachment}", Url),
    ("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}", Url),
    ("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}/thumbnail", Url),
    ("POST", "/api/v1/providers/{rail}/callbacks", Provider),
    ("GET", "/api/v1/openapi.json", Nobody),
    ("GET", "/api/v1/docs", Nobody),
    ("GET", "/api/v1/docs/{file}", Nobody),
];

/// Every route there is.
pub(super) fn all() -> Vec<Route> {
    let rows = [OF_MERCHANTS, OF_STAFF, OF_OTHERS].into_iter().flatten();
    let route = |(method, path, needs): &Row| Route {
        method: method.parse().expect("a method"),
        path,
        needs: *needs,
    };
    rows.map(route).collect()
}

impl Route {
    /// A path of this route: the merchant's own number, and whatever payment is named.
    pub(super) fn path_with(&self, merchant_id: i64, payment_id: &str) -> String {
        let id =
            if self.path.contains("/merchants/") { merchant_id.to_string() } else { payment_id.to_owned() };
        self.path
            .replace("{id}", &id)
            .replace("{key_id}", "none")
            .replace("{credential_id}", "none")
            .replace("{comment_id}", "1")
            .replace("{attachment_id}", "none")
            .replace("{operator_id}", "none")
            .replace("{file}", "start.js")
    }

    /// What `quipu routes` says of it.
    fn published(&self) -> String {
        let merchants_own = self.path.starts_with("/api/v1/merchants/") && self.path.contains("/balance");
        let (credential, scope) = match self.needs {
            Needs::Nobody | Needs::Url => ("none", None),
            Needs::Scope(scope @ "payments.create") => ("api_key", Some(scope)),
            Needs::Scope(scope) if merchants_own => ("api_key, token or staff", Some(scope)),
            Needs::Scope(scope) => ("api_key or token", Some(scope)),
            Needs::Key => ("api_key", None),
            Needs::Signature(scope) => ("signature", scope),
            Needs::Operator("finance") => ("staff: finance", None),
            Needs::Operator("support") => ("staff: support", None),
            Needs::Operator("viewer") => ("staff: viewer", None),
            Needs::Provider => ("provider's signature", None),
            Needs::Operator(_) => ("staff: admin", None),
        };
        let method = self.method.as_str();
        json!({ "method": method, "path": self.path, "credential": credential, "scope": scope }).to_string()
    }

    /// Whether it names something that belongs to one merchant.
    pub(super) fn names_an_id(&self) -> bool {
        self.path.contains('{')
    }

    /// A body it can read, where it takes one.
    pub(super) fn body(&self) -> Option<Value> {
        if self.method != Method::POST
            || ["/cancel", "/close", "/reopen"].iter().any(|end| self.path.ends_with(end))
        {
            return None;
        }
        Some(match self.path {
            path if path.ends_with("/validate") => {
                json!({ "method": "spei", "currency": "MXN", "type": "deposit" })
            }
            path if path.ends_with("/tickets") => json!({ "title": "a ticket" }),
            path if path.ends_with("/comments") => json!({ "body": "a comment" }),
            path if path.ends_with("/upload-url") => {
                json!({ "filename": "a.png", "content_type": "image/png" })
            }
            path if path.ends_with("/payments") => quipu_tests::draft::deposit_mxn(1),
            _ => json!({}),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_names_every_route_the_gateway_has() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let printed = gateway.run(&["routes"]);
    let printed: Value = serde_json::from_str(printed.ok()).expect("it prints JSON");
    let routes = printed["routes"].as_array().expect("a list of routes");
    let published: BTreeSet<_> = routes.iter().map(Value::to_string).collect();
    let known: BTreeSet<_> = all().iter().map(Route::published).collect();
    let missing: Vec<_> = published.difference(&known).collect();
    assert!(missing.is_empty(), "give these their rows in the table: {missing:#?}");
    let gone: Vec<_> = known.difference(&published).collect();
    assert!(gone.is_empty(), "these are in the table only: {gone:#?}");
}
