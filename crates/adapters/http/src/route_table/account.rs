//! The merchant itself, and its tokens.

use quipu_merchants::Scope;

use super::{ANY_SCOPE, row, scope};
use crate::{
    answer::ErrorCode,
    routing::{
        Access, RouteRow,
        Shows::{Data, Plain},
        operation::op,
    },
    v1::{auth, merchants},
};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/.well-known/jwks.json", Access::Public(run!(auth::public_keys, call)))
        .doc(op("publicKeys", "The keys by which access tokens are verified").shows(Plain("PublicKeys"))),
    row("GET", "/api/v1/merchants/{id}", Access::KeyOrToken(scope(Scope::WebhooksRead), run!(merchants::get, call, caller)))
        .doc(op("getMerchant", "Your own record").shows(Data("Merchant")).refuses(&[ErrorCode::MerchantNotFound])),
    row("POST", "/api/v1/auth/token", Access::ApiKey(ANY_SCOPE, run!(auth::token, call, caller)))
        .doc(op("createToken", "An access token for an API key").may_take("TokenRequest").shows(Plain("Token")).changes_nothing()),
    row("POST", "/api/v2/auth/token", Access::Signed(ANY_SCOPE, run!(auth::token, call, caller)))
        .doc(op("createTokenSigned", "An access token for a signed request").may_take("TokenRequest").shows(Plain("Token"))),
];
