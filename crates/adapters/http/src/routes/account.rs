//! The merchant itself, and its tokens.

use quipu_merchants::Scope;

use super::{ANY_SCOPE, row, scope};
use crate::{
    door::Door,
    row::RouteRow,
    v1::{auth, merchants},
};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/.well-known/jwks.json", Door::Public(run!(auth::public_keys, call))),
    row("GET", "/api/v1/merchants/{id}", Door::KeyOrToken(scope(Scope::WebhooksRead), run!(merchants::get, call, caller))),
    row("POST", "/api/v1/auth/token", Door::ApiKey(ANY_SCOPE, run!(auth::token, call, caller))),
    row("POST", "/api/v2/auth/token", Door::Signed(ANY_SCOPE, run!(auth::token, call, caller))),
];
