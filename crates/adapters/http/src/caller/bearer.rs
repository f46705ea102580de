//! Callers with a bearer token.

use quipu_kernel::Timestamp;
use quipu_merchants::Scopes;

use super::identity::{Authority, Caller};
use crate::{
    answer::ApiError,
    state::{AppState, KeyKind, tokens::invalid},
};

/// Authenticates a bearer token. The token's key is looked up at every use, so that the token ends with its
/// key.
pub(super) async fn authenticate(state: &AppState, token: &str, now: Timestamp) -> Result<Caller, ApiError> {
    let claims = state.tokens.verify(token, now)?;
    let callers = &state.services.caller_book;
    let authority = match claims.key_kind {
        KeyKind::ApiKey => {
            let found = callers.api_key_by_id(&claims.key_id).await?;
            found.filter(|it| it.key.is_active(now)).map(Authority::Key)
        }
        KeyKind::HmacCredential => {
            let found = callers.credential_by_id(&claims.key_id).await?;
            found.filter(|it| it.key.is_active()).map(Authority::Credential)
        }
    };
    let mut caller = Caller::new(authority.ok_or_else(invalid)?);
    let tenant = caller.tenant();
    if tenant.environment() != claims.env || tenant.merchant().to_string() != claims.sub {
        return Err(invalid());
    }
    caller.narrowed_to = Some(Scopes::parse(&claims.scope).map_err(|_| invalid())?);
    if claims.key_kind == KeyKind::ApiKey {
        state.services.key_uses.note(&claims.key_id, now);
    }
    Ok(caller)
}
