//! Every endpoint against every scope (docs/API.md, "Authentication").

use quipu_tests::{Answer, Client, Database, Gateway, Merchant, on_both_databases};
use reqwest::Method;
use serde_json::json;

use super::{
    people::{refused_401, text},
    routes::{self, Needs, Route},
};

/// All scopes; an alias stands for the scope it grants.
const SCOPES: [&str; 12] = [
    "payments.create",
    "payments.read",
    "payments.cancel",
    "payments.methods",
    "webhooks.create",
    "webhooks.read",
    "webhooks.update",
    "webhooks.delete",
    "balance.read",
    "tickets.create",
    "tickets.read",
    "tickets.update",
];

const UNKNOWN: &str = "pay_1763683200000_aaaaaaaaaaaa";

on_both_databases!(
    each_route_opens_for_its_scope_and_for_no_other,
    no_route_but_the_public_ones_opens_without_a_credential,
    each_operator_route_asks_for_its_role,
);

async fn each_route_opens_for_its_scope_and_for_no_other(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let routes = routes::all();
    for scope in SCOPES {
        let others: Vec<_> = SCOPES.into_iter().filter(|other| *other != scope).collect();
        let callers = [json!([scope]), json!(others)].map(|scopes| json!({ "scopes": scopes }));
        let [only, without] = [merchant.key(&callers[0]).await, merchant.key(&callers[1]).await];
        let token = without.post("/api/v1/auth/token", &json!({})).await.ok();
        let bearer = gateway.anonymous().with_bearer(&text(&token, "access_token"));
        for route in routes.iter().filter(|route| matches!(route.needs, Needs::Scope(_))) {
            let opens = route.needs == Needs::Scope(scope);
            expect(route, &merchant, &only, opens, scope).await;
            expect(route, &merchant, &without, !opens, scope).await;
            if route.needs != Needs::Scope("payments.create") {
                expect(route, &merchant, &bearer, !opens, scope).await;
            }
        }
    }
    // A route that needs none of them opens for a key that has none but one.
    let any = merchant.key(&json!({ "scopes": ["tickets.read"] })).await;
    any.post("/api/v1/auth/token", &json!({})).await.ok();
    gateway.assert_no_panic();
}

/// Whether the door was open, and what is behind it works.
fn is_entered(answer: &Answer) -> bool {
    answer.status < 500 && ![401, 403].contains(&answer.status)
}

async fn expect(route: &Route, merchant: &Merchant, caller: &Client, opens: bool, scope: &str) {
    let path = route.path_with(merchant.id, UNKNOWN);
    let body = route.body().map(|body| body.to_string().into_bytes());
    let answer = caller.send(route.method.clone(), &path, body, &[]).await;
    if opens {
        assert!(is_entered(&answer), "{} {path} with {scope}: {answer}", route.method);
        return;
    }
    assert_eq!(answer.status, 403, "{} {path} and {scope}: {}", route.method, answer.text);
    let refused = answer.refused(403, "SCOPE_MISSING");
    assert_eq!(refused["error"], "Forbidden");
    let Needs::Scope(needed) = route.needs else { panic!("{route:?} needs no scope") };
    assert!(text(&refused, "message").contains(needed), "{refused} names not {needed}");
}

async fn no_route_but_the_public_ones_opens_without_a_credential(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for route in routes::all() {
        let path = route.path_with(merchant.id, UNKNOWN);
        let body = route.body().map(|body| body.to_string().into_bytes());
        let answer = gateway.anonymous().send(route.method.clone(), &path, body.clone(), &[]).await;
        match route.needs {
            // What is no URL of the gateway's own leads nowhere, and no provider of this name is configured.
            Needs::Url | Needs::Provider => assert_eq!(answer.status, 404, "{path}: {}", answer.text),
            // It opens, though there may be nothing of this name behind it.
            Needs::Nobody => assert!(matches!(answer.status, 200 | 404 | 415), "{path}: {}", answer.text),
            Needs::Scope(_) | Needs::Key => refused_401(&answer, "API_KEY_MISSING"),
            Needs::Signature(_) => refused_401(&answer, "SIGNATURE_MISSING"),
            Needs::Operator(_) => {
                assert_eq!(answer.status, 401, "{path}: {}", answer.text);
                let merchants = merchant.api.send(route.method.clone(), &path, body, &[]).await;
                assert_eq!(merchants.status, 401, "a merchant's key at {path}: {}", merchants.text);
            }
        }
    }
    gateway.assert_no_panic();
}

async fn each_operator_route_asks_for_its_role(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for role in ["admin", "finance", "support", "viewer"] {
        let printed = gateway.run(&["operator", "create", "--name", role, "--role", role]);
        let printed = serde_json::from_str(printed.ok()).expect("it prints JSON");
        let staff = gateway.anonymous().with_bearer(&text(&printed, "token"));
        for route in routes::all() {
            let Needs::Operator(needed) = route.needs else { continue };
            let path = route.path_with(merchant.id, UNKNOWN);
            // The body is none that an endpoint takes, so that nothing changes where the role is the right one.
            let body =
                (route.method != Method::GET && route.method != Method::DELETE).then(|| b"[]".to_vec());
            let answer = staff.send(route.method.clone(), &path, body, &[]).await;
            if role == "admin" || role == needed || needed == "viewer" {
                assert!(is_entered(&answer), "{} {path} as {role}: {answer}", route.method);
            } else {
                assert_eq!(answer.status, 403, "{} {path} as {role}: {answer}", route.method);
            }
        }
    }
    gateway.assert_no_panic();
}
