//! The one table of routes: the router is built from it, and whoever is to walk all routes reads it.

use quipu_merchants::{BudgetKind, Role, Scope};

use crate::{
    door::{Door, Needs, RouteRow},
    health, operator,
    v1::{auth, balance, merchants, payments},
};

/// Every route of the interface. Of two paths that both match, the earlier counts.
pub fn route_table() -> &'static [RouteRow] {
    ROUTES
}

const fn row(method: &'static str, path: &'static str, door: Door) -> RouteRow {
    RouteRow::new(method, path, door)
}

const fn scope(scope: Scope) -> Needs {
    Needs { scope: Some(scope), budget: BudgetKind::Standard }
}

const ANY_SCOPE: Needs = Needs { scope: None, budget: BudgetKind::Standard };
const CREATION: Needs = Needs { scope: Some(Scope::PaymentsCreate), budget: BudgetKind::PaymentCreation };

/// An `async fn` as the table holds it.
macro_rules! run {
    ($handler:path, $($argument:ident),+) => { |$($argument),+| Box::pin($handler($($argument),+)) };
}

#[rustfmt::skip]
static ROUTES: &[RouteRow] = &[
    row("GET", "/healthz", Door::Public(run!(health::alive, call))),
    row("GET", "/readyz", Door::Public(run!(health::ready, call))),
    row("GET", "/.well-known/jwks.json", Door::Public(run!(auth::public_keys, call))),

    row("POST", "/api/v1/payments", Door::ApiKey(CREATION, run!(payments::create::by_key, call, caller))),
    row("GET", "/api/v1/payments", Door::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::list::handle, call, caller))),
    row("GET", "/api/v1/payments/methods", Door::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::list, call, caller))),
    row("POST", "/api/v1/payments/methods/validate", Door::KeyOrToken(scope(Scope::PaymentsMethods), run!(payments::methods::validate, call, caller))),
    row("GET", "/api/v1/payments/{id}", Door::KeyOrToken(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller))),
    row("POST", "/api/v1/payments/{id}/cancel", Door::KeyOrToken(scope(Scope::PaymentsCancel), run!(payments::cancel::handle, call, caller))),
    row("GET", "/api/v1/balance", Door::KeyOrToken(scope(Scope::BalanceRead), run!(balance::own, call, caller))),
    row("GET", "/api/v1/balance/all", Door::KeyOrToken(scope(Scope::BalanceRead), run!(balance::all_own, call, caller))),
    row("GET", "/api/v1/merchants/{id}", Door::KeyOrToken(scope(Scope::WebhooksRead), run!(merchants::get, call, caller))),
    row("GET", "/api/v1/merchants/{id}/balance", Door::Scoped(scope(Scope::BalanceRead), run!(balance::of, call, tenant))),
    row("GET", "/api/v1/merchants/{id}/balance/all", Door::Scoped(scope(Scope::BalanceRead), run!(balance::all_of, call, tenant))),
    row("POST", "/api/v1/auth/token", Door::ApiKey(ANY_SCOPE, run!(auth::token, call, caller))),

    row("POST", "/api/v2/payments", Door::SignedCreation(CREATION, run!(payments::create::by_signature, call, signed))),
    row("GET", "/api/v2/payments/{id}", Door::Signed(scope(Scope::PaymentsRead), run!(payments::get::handle, call, caller))),
    row("GET", "/api/v2/balance", Door::Signed(scope(Scope::BalanceRead), run!(balance::own, call, caller))),
    row("GET", "/api/v2/balance/all", Door::Signed(scope(Scope::BalanceRead), run!(balance::all_own, call, caller))),
    row("POST", "/api/v2/auth/token", Door::Signed(ANY_SCOPE, run!(auth::token, call, caller))),

    row("POST", "/operator/v1/merchants", Door::Staff(Role::Admin, run!(operator::merchants::create, call, staff))),
    row("GET", "/operator/v1/merchants", Door::Staff(Role::Admin, run!(operator::merchants::list, call, staff))),
    row("GET", "/operator/v1/merchants/{id}", Door::Staff(Role::Admin, run!(operator::merchants::get, call, staff))),
    row("PATCH", "/operator/v1/merchants/{id}", Door::Staff(Role::Admin, run!(operator::merchants::change, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/rotate-webhook-secret", Door::Staff(Role::Admin, run!(operator::merchants::rotate_webhook_secret, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/switch", Door::Staff(Role::Admin, run!(operator::merchants::switch, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/api-keys", Door::Staff(Role::Admin, run!(operator::api_keys::issue, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/api-keys", Door::Staff(Role::Admin, run!(operator::api_keys::list, call, staff))),
    row("DELETE", "/operator/v1/merchants/{id}/api-keys/{key_id}", Door::Staff(Role::Admin, run!(operator::api_keys::revoke, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/hmac-credentials", Door::Staff(Role::Admin, run!(operator::credentials::issue, call, staff))),
    row("DELETE", "/operator/v1/merchants/{id}/hmac-credentials/{credential_id}", Door::Staff(Role::Admin, run!(operator::credentials::revoke, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/routes", Door::Staff(Role::Admin, run!(operator::routes::get, call, staff))),
    row("PUT", "/operator/v1/merchants/{id}/routes", Door::Staff(Role::Admin, run!(operator::routes::replace, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/beneficiaries", Door::Staff(Role::Admin, run!(operator::beneficiaries::add, call, staff))),
    row("GET", "/operator/v1/merchants/{id}/beneficiaries", Door::Staff(Role::Admin, run!(operator::beneficiaries::list, call, staff))),
    row("POST", "/operator/v1/merchants/{id}/adjustments", Door::Staff(Role::Finance, run!(operator::adjustments::adjust, call, staff))),
    row("GET", "/operator/v1/ledger/check", Door::Staff(Role::Finance, run!(operator::ledger::check, call, staff))),
    row("GET", "/operator/v1/audit-log", Door::Staff(Role::Finance, run!(operator::audit::list, call, staff))),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::door::Credentials;

    #[test]
    fn no_route_stands_twice_in_the_table() {
        let distinct: BTreeSet<_> = ROUTES.iter().map(|row| (row.method(), row.path())).collect();
        assert_eq!(distinct.len(), ROUTES.len());
    }

    #[test]
    fn only_health_keys_and_tokens_ask_for_no_scope() {
        let unscoped = ROUTES.iter().filter(|row| row.scope().is_none());
        let unscoped = unscoped.filter(|row| !matches!(row.credentials(), Credentials::Staff(_)));
        let paths: Vec<_> = unscoped.map(RouteRow::path).collect();
        let expected =
            ["/healthz", "/readyz", "/.well-known/jwks.json", "/api/v1/auth/token", "/api/v2/auth/token"];
        assert_eq!(paths, expected);
    }
}
