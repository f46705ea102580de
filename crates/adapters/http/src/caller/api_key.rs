//! `X-API-Key` (docs/API.md, "Authentication").

use actix_web::{HttpRequest, http::header::HeaderName};
use quipu_kernel::Timestamp;
use quipu_merchants::ApiVersion;
use quipu_signing::{ApiKey, ApiKeyProblem};

use super::{
    credential_header::CredentialHeader,
    identity::{Authority, Caller},
    permit_lookup,
};
use crate::{
    answer::{ApiError, ErrorCode},
    state::AppState,
};

pub(super) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Authenticates an API key. Its form and checksum are judged before the database is asked. The key of a
/// merchant who moved to v2 is answered with the version mismatch, although the switch has revoked it too:
/// the version is what the caller must change.
pub(super) async fn authenticate(
    state: &AppState,
    request: &HttpRequest,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    let key = match CredentialHeader::read(request, &X_API_KEY) {
        CredentialHeader::Nothing | CredentialHeader::Text("") => {
            return Err(ApiError::refused(ErrorCode::ApiKeyMissing, "header X-API-Key is required"));
        }
        CredentialHeader::Text(text) => ApiKey::parse(text)?,
        CredentialHeader::Unusable => return Err(ApiKeyProblem::Malformed.into()),
    };

    let (hashes, mut found) = (key.hashes(&state.services.keyring), None);
    for hash in &hashes {
        permit_lookup(state, request, hash, now).await?;
        found = state.services.caller_book.api_key_by_hash(hash).await?;
        if found.is_some() {
            state.lookups.found(&hashes);
            break;
        }
    }
    let found = found.filter(|found| found.key.tenant.environment() == key.environment());
    let envelope = found.ok_or(ApiKeyProblem::Malformed)?;

    if envelope.merchant.api_version != ApiVersion::V1 {
        let message = "the merchant uses version 2, whose requests are signed";
        return Err(ApiError::refused(ErrorCode::ApiVersionMismatch, message));
    }
    if envelope.key.revoked_at.is_some() {
        return Err(ApiError::refused(ErrorCode::ApiKeyRevoked, "the API key was revoked"));
    }
    if envelope.key.has_expired(now) {
        return Err(ApiError::refused(ErrorCode::ApiKeyExpired, "the API key has expired"));
    }
    state.services.key_uses.note(&envelope.key.key_id, now);
    Ok(Caller::new(Authority::Key(envelope)))
}
