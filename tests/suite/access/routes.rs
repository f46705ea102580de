//! The interface as a table: every route, and what a caller needs there.

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
    /// A signature.
    Signature,
    /// The operator's token.
    Operator,
}

/// One route as the gateway publishes it.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) needs: Needs,
}

/// Every route of the merchants' interface and of the operator's. What is published and not here fails
/// `every_published_route_is_in_the_table`; what is here is tested against every missing scope and foreign id.
pub(super) fn all() -> Vec<Route> {
    use Needs::{Key, Nobody, Operator, Scope, Signature};
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    [
        (&get, "/healthz", Nobody),
        (&get, "/readyz", Nobody),
        (&get, "/.well-known/jwks.json", Nobody),
        (&post, "/api/v1/auth/token", Key),
        (&post, "/api/v1/payments", Scope("payments.create")),
        (&get, "/api/v1/payments", Scope("payments.read")),
        (&get, "/api/v1/payments/methods", Scope("payments.methods")),
        (&post, "/api/v1/payments/methods/validate", Scope("payments.methods")),
        (&get, "/api/v1/payments/{id}", Scope("payments.read")),
        (&post, "/api/v1/payments/{id}/cancel", Scope("payments.cancel")),
        (&get, "/api/v1/balance", Scope("balance.read")),
        (&get, "/api/v1/balance/all", Scope("balance.read")),
        (&get, "/api/v1/merchants/{id}", Scope("webhooks.read")),
        (&get, "/api/v1/merchants/{id}/balance", Scope("balance.read")),
        (&get, "/api/v1/merchants/{id}/balance/all", Scope("balance.read")),
        (&post, "/api/v2/auth/token", Signature),
        (&post, "/api/v2/payments", Signature),
        (&get, "/api/v2/payments/{payment_id}", Signature),
        (&get, "/api/v2/balance", Signature),
        (&get, "/api/v2/balance/all", Signature),
        (&post, "/operator/v1/merchants", Operator),
        (&get, "/operator/v1/merchants", Operator),
        (&get, "/operator/v1/merchants/{id}", Operator),
        (&Method::PATCH, "/operator/v1/merchants/{id}", Operator),
        (&post, "/operator/v1/merchants/{id}/api-keys", Operator),
        (&get, "/operator/v1/merchants/{id}/api-keys", Operator),
        (&delete, "/operator/v1/merchants/{id}/api-keys/{key_id}", Operator),
        (&post, "/operator/v1/merchants/{id}/hmac-credentials", Operator),
        (&delete, "/operator/v1/merchants/{id}/hmac-credentials/{credential_id}", Operator),
        (&post, "/operator/v1/merchants/{id}/switch", Operator),
        (&get, "/operator/v1/merchants/{id}/routes", Operator),
        (&Method::PUT, "/operator/v1/merchants/{id}/routes", Operator),
        (&post, "/operator/v1/merchants/{id}/beneficiaries", Operator),
        (&get, "/operator/v1/merchants/{id}/beneficiaries", Operator),
        (&post, "/operator/v1/merchants/{id}/adjustments", Operator),
        (&get, "/operator/v1/audit-log", Operator),
    ]
    .map(|(method, path, needs)| Route { method: method.clone(), path, needs })
    .into()
}

impl Route {
    /// A path of this route: the merchant's own number, and whatever payment is named.
    pub(super) fn path_with(&self, merchant_id: i64, payment_id: &str) -> String {
        let id =
            if self.path.contains("/merchants/") { merchant_id.to_string() } else { payment_id.to_owned() };
        self.path.replace("{id}", &id).replace("{payment_id}", payment_id)
    }

    /// Whether it names something that belongs to one merchant.
    pub(super) fn names_an_id(&self) -> bool {
        self.path.contains('{')
    }

    /// A body it can read, where it takes one.
    pub(super) fn body(&self) -> Option<Value> {
        if self.method != Method::POST || self.path.ends_with("/cancel") {
            return None;
        }
        Some(match self.path {
            path if path.ends_with("/validate") => {
                json!({ "method": "spei", "currency": "MXN", "type": "deposit" })
            }
            path if path.ends_with("/payments") => quipu_tests::draft::deposit_mxn(1),
            _ => json!({}),
        })
    }
}
