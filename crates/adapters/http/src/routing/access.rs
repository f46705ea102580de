//! Who may call a route: the kinds of authentication, each with the handler behind it.

use quipu_kernel::Tenant;
use quipu_merchants::{KeyBudget, Role, Scope};

use crate::{
    answer::ApiError,
    caller::{AuthenticatedOperator, Caller, Provider, Signed},
    request::{Call, Running},
};

/// The scope and budget of a merchant's call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) scope: Option<Scope>,
    pub(crate) budget: KeyBudget,
}

/// The functions that verify a callback.
#[derive(Clone, Copy)]
pub(crate) struct Judge {
    /// Refuses what can be refused without the body.
    pub(crate) head: fn(&Call) -> Result<(), ApiError>,
    /// Verifies the signature over the raw body, and finds the rail.
    pub(crate) whole: fn(&Call, &[u8]) -> Result<Provider, ApiError>,
}

/// The kinds of authentication, each with its handler. A handler takes what its kind provides, so it fits no
/// other.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Everyone, uncounted.
    Public(fn(Call) -> Running),
    /// Everyone, counted by address: hosted pages and transfers of files.
    Anonymous(fn(Call) -> Running),
    /// A payment provider. Unverified callbacks are counted by address and verified ones by rail, so that
    /// nobody else can use up a provider's budget.
    Callback(Judge, fn(Call, Provider) -> Running),
    /// A merchant by its API key.
    ApiKey(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token.
    KeyOrToken(Needs, fn(Call, Caller) -> Running),
    /// A merchant by its API key or a bearer token for itself, or staff for any.
    Scoped(Needs, fn(Call, Tenant) -> Running),
    /// A merchant by a signed request, whose nonce is used up after the handler has answered.
    Signed(Needs, fn(Call, Caller) -> Running),
    /// A merchant by a signed request, whose nonce the handler uses up.
    SignedCreation(Needs, fn(Call, Signed) -> Running),
    /// Staff with a role.
    Staff(Role, fn(Call, AuthenticatedOperator) -> Running),
}

/// The credentials that a route requires.
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
    /// An operator token with this role.
    Staff(Role),
}

impl Credentials {
    /// The challenges in the answer to a caller without credentials (RFC 9110, section 11.6.1).
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

impl Access {
    pub(crate) const fn credentials(&self) -> Credentials {
        match self {
            Self::Public(_) | Self::Anonymous(_) => Credentials::None,
            Self::Callback(..) => Credentials::Provider,
            Self::ApiKey(..) => Credentials::ApiKey,
            Self::KeyOrToken(..) => Credentials::ApiKeyOrToken,
            Self::Scoped(..) => Credentials::ApiKeyTokenOrStaff,
            Self::Signed(..) | Self::SignedCreation(..) => Credentials::Signature,
            Self::Staff(role, _) => Credentials::Staff(*role),
        }
    }

    /// The scope and budget of a merchant's call; `None` if the route requires no merchant's key.
    pub(crate) const fn needs(&self) -> Option<Needs> {
        match self {
            Self::ApiKey(needs, _)
            | Self::KeyOrToken(needs, _)
            | Self::Scoped(needs, _)
            | Self::Signed(needs, _)
            | Self::SignedCreation(needs, _) => Some(*needs),
            Self::Public(_) | Self::Anonymous(_) | Self::Callback(..) | Self::Staff(..) => None,
        }
    }
}
