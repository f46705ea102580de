//! The one table of routes: the router is built from it, and whoever is to walk all routes reads it.

use quipu_kernel::Tenant;
use quipu_merchants::{BudgetKind, Role, Scope};

use crate::{
    caller::{Caller, Signed, Staff},
    dispatch::{Call, Running},
    health, operator,
    v1::{auth, balance, merchants, payments},
};

/// What a merchant's call needs and is charged to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) scope: Option<Scope>,
    pub(crate) budget: BudgetKind,
}

/// Who may come in, and the handler behind. A handler takes what its door makes, so neither fits another.
#[derive(Clone, Copy)]
pub(crate) enum Door {
    /// Anybody.
    Public(fn(Call) -> Running),
    /// A merchant by its API key.
    ApiKey(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token.
    KeyOrToken(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token for itself, or staff for any.
    Scoped(Needs, fn(Call, Tenant) -> Running),
    /// A merchant by a signed request, whose nonce is used up before the handler runs.
    Signed(Needs, fn(Call, Caller) -> Running),
    /// A merchant by a signed request, whose nonce the handler uses up.
    SignedCreation(Needs, fn(Call, Signed) -> Running),
    /// Staff of a role.
    Staff(Role, fn(Call, Staff) -> Running),
}

/// What a route asks of those who call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// Nothing.
    None,
    /// `X-API-Key`.
    ApiKey,
    /// `X-API-Key` or a bearer token.
    ApiKeyOrToken,
    /// `X-API-Key`, a bearer token, or an operator token.
    ApiKeyTokenOrStaff,
    /// The five headers of a signed request.
    Signature,
    /// An operator token of this role.
    Staff(Role),
}

/// One route.
pub struct RouteRow {
    method: &'static str,
    path: &'static str,
    pub(crate) door: Door,
}

impl RouteRow {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub const fn method(&self) -> &'static str {
        self.method
    }

    /// The path, its variable segments in braces: `/api/v1/payments/{id}`.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// What it asks of those who call it.
    pub const fn credentials(&self) -> Credentials {
        match self.door {
            Door::Public(_) => Credentials::None,
            Door::ApiKey(..) => Credentials::ApiKey,
            Door::KeyOrToken(..) => Credentials::ApiKeyOrToken,
            Door::Scoped(..) => Credentials::ApiKeyTokenOrStaff,
            Door::Signed(..) | Door::SignedCreation(..) => Credentials::Signature,
            Door::Staff(role, _) => Credentials::Staff(role),
        }
    }

    /// The scope that a merchant's key must have.
    pub const fn scope(&self) -> Option<Scope> {
        match self.needs() {
            Some(needs) => needs.scope,
            None => None,
        }
    }

    /// The budget that a merchant's call is charged to; none for routes that are not limited by key.
    pub const fn budget(&self) -> Option<BudgetKind> {
        match self.needs() {
            Some(needs) => Some(needs.budget),
            None => None,
        }
    }

    const fn needs(&self) -> Option<Needs> {
        match self.door {
            Door::ApiKey(needs, _)
            | Door::KeyOrToken(needs, _)
            | Door::Scoped(needs, _)
            | Door::Signed(needs, _)
            | Door::SignedCreation(needs, _) => Some(needs),
            Door::Public(_) | Door::Staff(..) => None,
        }
    }
}

impl std::fmt::Debug for RouteRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// Every route of the interface. Of two paths that both match, the earlier counts.
pub fn route_table() -> &'static [RouteRow] {
    ROUTES
}

const fn row(method: &'static str, path: &'static str, door: Door) -> RouteRow {
    RouteRow { method, path, door }
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

    #[test]
    fn no_route_stands_twice_in_the_table() {
        let distinct: BTreeSet<_> = ROUTES.iter().map(|row| (row.method, row.path)).collect();
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
