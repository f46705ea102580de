//! Endpoints against scopes and roles (docs/API.md, "Authentication"). Every endpoint meets every scope in the memory of one process
//! (`crates/adapters/http/tests/edge/scopes.rs`); here each scope and each role has a row or two. No database has a say in it.

use std::{collections::HashSet, mem::discriminant};

use quipu_tests::{Answer, Client, Database, Gateway, Merchant};
use reqwest::Method;
use serde_json::{Value, json};

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

const ROLES: [&str; 4] = ["admin", "finance", "support", "viewer"];

const UNKNOWN: &str = "pay_1763683200000_aaaaaaaaaaaa";

/// The first route of the table that needs this.
fn one_that_needs(needs: Needs) -> Route {
    let mut routes = routes::all().into_iter();
    routes.find(|route| route.needs == needs).unwrap_or_else(|| panic!("no route needs {needs:?}"))
}

async fn call(caller: &Client, route: &Route, merchant: &Merchant) -> Answer {
    let body = route.body().map(|body| body.to_string().into_bytes());
    caller.send(route.method.clone(), &route.path_with(merchant.id, UNKNOWN), body, &[]).await
}

/// Whether the door was open, and what is behind it works.
fn is_entered(answer: &Answer) -> bool {
    answer.status < 500 && ![401, 403].contains(&answer.status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_of_each_scope_opens_for_it_and_for_no_other() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let held = "balance.read";
    let others: Vec<_> = SCOPES.into_iter().filter(|other| *other != held).collect();
    let only = merchant.key(&json!({ "scopes": [held] })).await;
    let without = merchant.key(&json!({ "scopes": others })).await;
    for scope in SCOPES {
        let route = one_that_needs(Needs::Scope(scope));
        expect(&route, &merchant, &only, scope, scope == held).await;
        expect(&route, &merchant, &without, scope, scope != held).await;
    }
    let token = without.post("/api/v1/auth/token", &json!({})).await.ok();
    let bearer = gateway.anonymous().with_bearer(&text(&token, "access_token"));
    expect(&one_that_needs(Needs::Scope(held)), &merchant, &bearer, held, false).await;
    expect(&one_that_needs(Needs::Scope("payments.read")), &merchant, &bearer, "payments.read", true).await;
    // A route that needs none of them opens for a key that has any.
    only.post("/api/v1/auth/token", &json!({})).await.ok();
    gateway.assert_no_panic();
}

async fn expect(route: &Route, merchant: &Merchant, caller: &Client, scope: &str, opens: bool) {
    let answer = call(caller, route, merchant).await;
    if opens {
        assert!(is_entered(&answer), "{route:?}: {answer}");
        return;
    }
    let refused = answer.refused(403, "SCOPE_MISSING");
    assert_eq!(refused["error"], "Forbidden");
    assert!(text(&refused, "message").contains(scope), "{refused} names not {scope}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_of_each_kind_asks_for_what_it_needs() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let (mut kinds, mut urls) = (HashSet::new(), 0);
    for route in routes::all() {
        let is_url = route.needs == Needs::Url;
        urls += usize::from(is_url);
        // One of a kind, whichever scope, role or credential it is; of what no credential guards, all.
        if !is_url && !kinds.insert(discriminant(&route.needs)) {
            continue;
        }
        let answer = call(&gateway.anonymous(), &route, &merchant).await;
        match route.needs {
            // What is no URL of the gateway's own leads nowhere, and no provider of this name is configured.
            Needs::Url | Needs::Provider => assert_eq!(answer.status, 404, "{route:?}: {answer}"),
            Needs::Nobody => assert_eq!(answer.status, 200, "{route:?}: {answer}"),
            Needs::Scope(_) | Needs::Key => refused_401(&answer, "API_KEY_MISSING"),
            Needs::Signature(_) => refused_401(&answer, "SIGNATURE_MISSING"),
            Needs::Operator(_) => {
                assert_eq!(answer.status, 401, "{route:?}: {answer}");
                let merchants = call(&merchant.api, &route, &merchant).await;
                assert_eq!(merchants.status, 401, "a merchant's key at {route:?}: {merchants}");
            }
        }
    }
    assert_eq!((kinds.len(), urls), (6, 3));
    gateway.assert_no_panic();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_of_each_role_opens_for_it_and_for_admins() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    for role in ROLES {
        let printed = gateway.run(&["operator", "create", "--name", role, "--role", role]);
        let printed: Value = serde_json::from_str(printed.ok()).expect("it prints JSON");
        let staff = gateway.anonymous().with_bearer(&text(&printed, "token"));
        for needed in ROLES {
            let route = one_that_needs(Needs::Operator(needed));
            // The body is none that an endpoint takes, so that nothing changes where the role is the right one.
            let body = (route.method != Method::GET).then(|| b"[]".to_vec());
            let path = route.path_with(merchant.id, UNKNOWN);
            let answer = staff.send(route.method.clone(), &path, body, &[]).await;
            if role == "admin" || role == needed || needed == "viewer" {
                assert!(is_entered(&answer), "{route:?} as {role}: {answer}");
            } else {
                answer.refused(403, "SCOPE_MISSING");
            }
        }
    }
    for token in ["qp_op_unknown", "x"] {
        let stranger = gateway.anonymous().with_bearer(token);
        stranger.get("/operator/v1/merchants").await.refused(401, "TOKEN_INVALID");
    }
    gateway.assert_no_panic();
}
