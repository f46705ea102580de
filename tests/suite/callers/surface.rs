//! What merchants can call, written down from the specification and compared with what the gateway really serves: an
//! endpoint that is added without a row here fails the suite, and every row is tried with every scope and by every
//! stranger.

use std::collections::BTreeSet;

use quipu_http::{Credentials, route_table};
use quipu_tests::{Client, Database, Gateway, Merchant, Table, draft, on_both_databases};
use reqwest::Method;
use serde_json::json;

/// One endpoint, and the scopes of which each one opens it.
struct Endpoint {
    method: Method,
    path: &'static str,
    scopes: &'static [&'static str],
}

const fn get(path: &'static str, scopes: &'static [&'static str]) -> Endpoint {
    Endpoint { method: Method::GET, path, scopes }
}

const fn post(path: &'static str, scopes: &'static [&'static str]) -> Endpoint {
    Endpoint { method: Method::POST, path, scopes }
}

const READ: &[&str] = &["payments.read", "payments.view"];
const BALANCE: &[&str] = &["balance.read", "balance.view"];

/// Version 1 (specification, "Endpoints" and "Scopes").
const VERSION_1: &[Endpoint] = &[
    post("/api/v1/payments", &["payments.create"]),
    get("/api/v1/payments", READ),
    get("/api/v1/payments/{id}", READ),
    post("/api/v1/payments/{id}/cancel", &["payments.cancel"]),
    get("/api/v1/payments/methods", &["payments.methods"]),
    post("/api/v1/payments/methods/validate", &["payments.methods"]),
    get("/api/v1/balance", BALANCE),
    get("/api/v1/balance/all", BALANCE),
    get("/api/v1/merchants/{id}", &["webhooks.read", "webhooks.view"]),
    get("/api/v1/merchants/{id}/balance", BALANCE),
    get("/api/v1/merchants/{id}/balance/all", BALANCE),
];

/// Version 2, where a credential has all scopes.
const VERSION_2: &[Endpoint] = &[
    post("/api/v2/payments", &[]),
    get("/api/v2/payments/{id}", &[]),
    get("/api/v2/balance", &[]),
    get("/api/v2/balance/all", &[]),
];

/// What every key and every credential may do.
const TOKENS: &[Endpoint] = &[post("/api/v1/auth/token", &[]), post("/api/v2/auth/token", &[])];

const SCOPES: [&str; 15] = [
    "payments.create",
    "payments.read",
    "payments.view",
    "payments.cancel",
    "payments.methods",
    "webhooks.create",
    "webhooks.read",
    "webhooks.view",
    "webhooks.update",
    "webhooks.delete",
    "balance.read",
    "balance.view",
    "tickets.create",
    "tickets.read",
    "tickets.update",
];

impl Endpoint {
    /// The path with the identifiers of what belongs to a merchant.
    fn of(&self, merchant: &Merchant, payment: &str) -> String {
        let id = if self.path.contains("/merchants/") { merchant.id.to_string() } else { payment.to_owned() };
        self.path.replace("{id}", &id)
    }

    async fn call(&self, caller: &Client, path: &str) -> quipu_tests::Answer {
        let body = match (&self.method, self.path) {
            (&Method::POST, "/api/v1/payments" | "/api/v2/payments") => Some(draft::deposit_mxn(1)),
            (&Method::POST, "/api/v1/payments/methods/validate") => {
                Some(json!({ "method": "spei", "currency": "MXN", "type": "deposit" }))
            }
            _ => None,
        };
        caller.send(self.method.clone(), path, body.map(|body| body.to_string().into_bytes()), &[]).await
    }
}

#[test]
fn every_endpoint_of_the_gateway_stands_in_these_tables() {
    let rows = VERSION_1.iter().chain(VERSION_2).chain(TOKENS);
    let written: BTreeSet<_> = rows.map(|row| (row.method.as_str(), row.path)).collect();
    let served = route_table().iter().filter(|row| row.path().starts_with("/api/"));
    let served: BTreeSet<_> = served.map(|row| (row.method(), row.path())).collect();
    assert_eq!(served, written);
}

on_both_databases!(
    each_endpoint_opens_to_its_scopes_and_no_others,
    nothing_but_the_public_opens_without_credentials,
    nothing_with_an_id_opens_to_strangers,
);

async fn each_endpoint_opens_to_its_scopes_and_no_others(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let payment = merchant.create(&draft::steered(draft::deposit_mxn(100), "stay")).await;
    let mut table = Table::new();
    for scope in SCOPES {
        let key = merchant.key(&json!({ "scopes": [scope] })).await;
        for endpoint in VERSION_1 {
            let answer = endpoint.call(&key, &endpoint.of(&merchant, &payment)).await;
            let row = format!("{} {} with {scope}", endpoint.method, endpoint.path);
            if !endpoint.scopes.contains(&scope) {
                table.refused(row, &answer, 403, "SCOPE_MISSING");
            } else if endpoint.path.ends_with("/cancel") {
                // A deposit cannot be cancelled, but it is not for want of a scope.
                table.refused(row, &answer, 400, "PAYMENT_ALREADY_PROCESSED");
            } else {
                table.accepted(row, &answer);
            }
        }
        table.accepted(format!("a token with {scope}"), &key.post_empty("/api/v1/auth/token").await);
    }
    table.finish();
}

async fn nothing_but_the_public_opens_without_credentials(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut table = Table::new();
    for row in route_table() {
        let path = row.path().replace("{id}", "1").replace("{key_id}", "1").replace("{credential_id}", "1");
        let method = Method::from_bytes(row.method().as_bytes()).expect("a method");
        let answer = gateway.anonymous().send(method.clone(), &path, None, &[]).await;
        let name = format!("{} {}", row.method(), row.path());
        match row.credentials() {
            Credentials::None => table.accepted(name, &answer),
            Credentials::Signature => {
                table.refused(&name, &answer, 401, "SIGNATURE_MISSING");
                let with_key = merchant.api.send(method, &path, None, &[]).await;
                table.refused(format!("{name} with an API key"), &with_key, 401, "SIGNATURE_MISSING");
            }
            Credentials::Staff(_) => {
                let with_key = merchant.api.send(method, &path, None, &[]).await;
                let verdict = if (answer.status, with_key.status) == (401, 401) {
                    Ok(())
                } else {
                    Err(answer.to_string())
                };
                table.note(name, verdict);
            }
            _ => table.refused(name, &answer, 401, "API_KEY_MISSING"),
        }
    }
    table.finish();
}

async fn nothing_with_an_id_opens_to_strangers(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    merchant.fund("ARS", 1_000).await;
    let payment = merchant.create(&draft::steered(draft::withdrawal_ars(100), "hold")).await;
    let live = merchant.key(&json!({ "environment": "live" })).await;
    let token = stranger.api.post_empty("/api/v1/auth/token").await.ok();
    let token = gateway.anonymous().with_bearer(token["access_token"].as_str().expect("a token"));
    let mut table = Table::new();
    for endpoint in VERSION_1.iter().filter(|endpoint| endpoint.path.contains("{id}")) {
        let of_merchant = endpoint.path.contains("/merchants/");
        let code = if of_merchant { "MERCHANT_NOT_FOUND" } else { "PAYMENT_NOT_FOUND" };
        let path = endpoint.of(&merchant, &payment);
        for (who, caller) in [("another merchant", &stranger.api), ("its token", &token)] {
            let answer = endpoint.call(caller, &path).await;
            table.refused(format!("{} {path} by {who}", endpoint.method), &answer, 404, code);
        }
        // A merchant is one in both environments; only what lies in them is apart.
        if !of_merchant {
            let answer = endpoint.call(&live, &path).await;
            table.refused(
                format!("{} {path} from the other environment", endpoint.method),
                &answer,
                404,
                code,
            );
        }
    }
    let path = format!("/api/v2/payments/{payment}");
    table.refused("version 2", &gateway.v2().get(&path).await, 404, "PAYMENT_NOT_FOUND");
    table.finish();
    assert_eq!(merchant.api.payment(&payment).await["status"], "pending");
    let balance = live.get(&format!("/api/v1/merchants/{}/balance?currency=ARS", merchant.id)).await.ok();
    assert_eq!(balance["balance_amount"], "0");
}
