//! Doors: who may come in, and the handler behind.

use quipu_kernel::Tenant;
use quipu_merchants::{BudgetKind, Role, Scope};

use crate::{
    call::{Call, Running},
    caller::{AuthenticatedOperator, Caller, Provider, Signed},
    error::ApiError,
};

/// What a merchant's call needs and is charged to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) scope: Option<Scope>,
    pub(crate) budget: BudgetKind,
}

/// Who judges whether a callback is what it says.
#[derive(Clone, Copy)]
pub(crate) struct Judge {
    /// Refuses what shows without the body.
    pub(crate) head: fn(&Call) -> Result<(), ApiError>,
    /// Judges the signature over the raw body, and says which rail it is.
    pub(crate) whole: fn(&Call, &[u8]) -> Result<Provider, ApiError>,
}

/// Who may come in, and the handler behind. A handler takes what its door makes, so neither fits another.
#[derive(Clone, Copy)]
pub(crate) enum Door {
    /// Anybody, uncounted.
    Public(fn(Call) -> Running),
    /// Anybody, counted by address: hosted pages and transfers of files.
    Visitor(fn(Call) -> Running),
    /// A payment provider. Callbacks that do not verify are counted by address, those that do by rail, so that nobody uses up a
    /// provider's budget.
    Callback(Judge, fn(Call, Provider) -> Running),
    /// A merchant by its API key.
    ApiKey(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token.
    KeyOrToken(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token for itself, or staff for any.
    Scoped(Needs, fn(Call, Tenant) -> Running),
    /// A merchant by a signed request, whose nonce is used up when there is an answer.
    Signed(Needs, fn(Call, Caller) -> Running),
    /// A merchant by a signed request, whose nonce the handler uses up.
    SignedCreation(Needs, fn(Call, Signed) -> Running),
    /// Staff of a role.
    Staff(Role, fn(Call, AuthenticatedOperator) -> Running),
}

/// What a route asks of those who call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// Nothing.
    None,
    /// A provider's signature over the body.
    Provider,
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

impl Credentials {
    /// How a caller who did not bring them is told of them (RFC 9110, section 11.6.1).
    pub(crate) const fn challenges(self) -> &'static [&'static str] {
        const KEY: &str = r#"ApiKey realm="quipu", header="X-API-Key""#;
        const TOKEN: &str = r#"Bearer realm="quipu""#;
        match self {
            Self::None | Self::Provider => &[r#"Signature realm="quipu""#],
            Self::ApiKey => &[KEY],
            Self::ApiKeyOrToken | Self::ApiKeyTokenOrStaff => &[KEY, TOKEN],
            Self::Signature => &[r#"HMAC-SHA256 realm="quipu", headers="X-Signature""#],
            Self::Staff(_) => &[TOKEN],
        }
    }
}

impl Door {
    pub(crate) const fn credentials(&self) -> Credentials {
        match self {
            Self::Public(_) | Self::Visitor(_) => Credentials::None,
            Self::Callback(..) => Credentials::Provider,
            Self::ApiKey(..) => Credentials::ApiKey,
            Self::KeyOrToken(..) => Credentials::ApiKeyOrToken,
            Self::Scoped(..) => Credentials::ApiKeyTokenOrStaff,
            Self::Signed(..) | Self::SignedCreation(..) => Credentials::Signature,
            Self::Staff(role, _) => Credentials::Staff(*role),
        }
    }

    /// What a merchant's call needs; none where no merchant's key is asked for.
    pub(crate) const fn needs(&self) -> Option<Needs> {
        match self {
            Self::ApiKey(needs, _)
            | Self::KeyOrToken(needs, _)
            | Self::Scoped(needs, _)
            | Self::Signed(needs, _)
            | Self::SignedCreation(needs, _) => Some(*needs),
            Self::Public(_) | Self::Visitor(_) | Self::Callback(..) | Self::Staff(..) => None,
        }
    }
}
