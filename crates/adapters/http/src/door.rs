//! What a route is: a path, a door that asks for credentials, and a handler behind it.

use quipu_kernel::Tenant;
use quipu_merchants::{BudgetKind, Role, Scope};

use crate::{
    call::{Call, Running},
    caller::{Caller, Signed, Staff},
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
    pub(crate) const fn new(method: &'static str, path: &'static str, door: Door) -> Self {
        Self { method, path, door }
    }

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
