//! The operator's staff (docs/openapi-operator.json).

use std::sync::Arc;

use actix_web::HttpRequest;
use quipu_kernel::Timestamp;
use quipu_merchants::{Actor, Operator, Role};
use quipu_signing::OperatorToken;

use super::permit_lookup;
use crate::{
    answer::{ApiError, ErrorCode},
    state::{AppState, tokens::invalid},
};

/// An authenticated member of staff.
pub(crate) struct AuthenticatedOperator(Arc<Operator>);

impl AuthenticatedOperator {
    /// This person, as the audit log names them.
    pub(crate) fn actor(&self) -> Actor {
        Actor { id: self.0.operator_id.clone(), name: self.0.name.clone() }
    }

    /// Refuses staff without this role.
    pub(crate) fn require(&self, role: Role) -> Result<(), ApiError> {
        if self.0.role.covers(role) {
            return Ok(());
        }
        let message = format!("the role {} is required", role.as_str());
        Err(ApiError::refused(ErrorCode::ScopeMissing, message))
    }
}

pub(super) fn looks_like_one(token: &str) -> bool {
    OperatorToken::parse(token).is_ok()
}

pub(super) async fn authenticate(
    state: &AppState,
    request: &HttpRequest,
    token: Option<&str>,
    now: Timestamp,
) -> Result<AuthenticatedOperator, ApiError> {
    let missing = || {
        ApiError::refused(ErrorCode::TokenInvalid, "header Authorization with an operator token is required")
    };
    let token = OperatorToken::parse(token.ok_or_else(missing)?).map_err(|_| invalid())?;
    let hashes = token.hashes(&state.services.keyring);
    for hash in &hashes {
        permit_lookup(state, request, hash, now).await?;
        if let Some(operator) = state.services.caller_book.operator_by_hash(hash).await? {
            state.lookups.found(&hashes);
            if operator.has_expired(now) {
                return Err(ApiError::refused(ErrorCode::TokenExpired, "the operator token has expired"));
            }
            return if operator.revoked_at.is_none() {
                Ok(AuthenticatedOperator(operator))
            } else {
                Err(invalid())
            };
        }
    }
    Err(invalid())
}
