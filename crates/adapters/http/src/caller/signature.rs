//! Signed requests (docs/SIGNING.md).

use std::sync::Arc;

use actix_web::{HttpRequest, http::header::HeaderName};
use quipu_commit::Nonce;
use quipu_kernel::{MerchantId, Timestamp};
use quipu_merchants::{ApiVersion, HmacCredential, KeyEnvelope};
use quipu_signing::{NONCE_KEPT_FOR, SignatureClaim, SignatureHeaders, SignatureProblem};

use super::pressure;
use super::{
    credential_header::CredentialHeader,
    identity::{Authority, Caller},
    permit_lookup,
};
use crate::{
    answer::{ApiError, ErrorCode},
    state::AppState,
};

/// A signed request whose signature has verified, and the nonce it must use up.
pub(crate) struct Signed {
    pub(crate) caller: Caller,
    pub(crate) nonce: Nonce,
}

/// What a signed request claims, and the credentials that may have signed it.
pub(crate) struct Claimed<'a> {
    claim: SignatureClaim<'a>,
    credentials: Arc<[Arc<KeyEnvelope<HmacCredential>>]>,
}

/// Reads the claim in the headers. Most mistakes show in them and in what is known of the merchant, so these
/// are refused before the body is read. So is a creation that would wait too long for its commit, whoever has
/// signed it: nothing was looked up by then, so the answer shows nothing about the merchant.
pub(crate) async fn claim<'a>(
    state: &AppState,
    request: &'a HttpRequest,
    is_creation: bool,
    now: Timestamp,
) -> Result<Claimed<'a>, ApiError> {
    let header = |name| CredentialHeader::read(request, &HeaderName::from_static(name)).or_malformed();
    let headers = SignatureHeaders {
        merchant_id: header("x-merchant-id"),
        timestamp: header("x-timestamp"),
        nonce: header("x-nonce"),
        version: header("x-signature-version"),
        signature: header("x-signature"),
    };
    let claim = match SignatureClaim::parse(&headers, now) {
        Ok(claim) => claim,
        Err(problem @ SignatureProblem::Missing(_)) => return Err(problem.into()),
        Err(problem) => {
            let Some(merchant) = headers.merchant() else { return Err(problem.into()) };
            permit_lookup(state, request, &known_as(merchant), now).await?;
            return Err(refusal(state, merchant, problem).await);
        }
    };
    if is_creation {
        pressure::judge(state, request, claim.merchant())?;
    }
    permit_lookup(state, request, &known_as(claim.merchant()), now).await?;
    let credentials = state.services.caller_book.credentials(claim.merchant()).await?;
    if !credentials.iter().any(|it| it.key.is_active()) {
        return Err(refusal(state, claim.merchant(), SignatureProblem::Mismatch).await);
    }
    if credentials.iter().any(|it| it.merchant.api_version != ApiVersion::V2) {
        return Err(version_mismatch());
    }
    Ok(Claimed { claim, credentials })
}

/// Verifies the claim with every active credential of the merchant; the matching credential selects the
/// environment. The time is judged again, because a slow body must not carry its timestamp past the end of
/// its nonce. The nonce is not used up here: a creation does that in its own commit.
pub(crate) fn authenticate(
    state: &AppState,
    request: &HttpRequest,
    Claimed { claim, credentials }: &Claimed<'_>,
    body: &[u8],
) -> Result<Signed, ApiError> {
    let now = state.services.clock.now();
    claim.judge_time(now)?;
    let path_with_query = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let signed = claim.over(request.method().as_str(), path_with_query, body)?;
    for envelope in credentials.iter().filter(|it| it.key.is_active()) {
        let context = HmacCredential::seal_context(&envelope.key.credential_id);
        let secret = state.services.keyring.open_secret(&context, &envelope.key.sealed_secret);
        let secret = secret.map_err(|problem| ApiError::internal("opening an HMAC secret", &problem))?;
        if signed.verify(&secret).is_ok() {
            state.lookups.found(&[known_as(claim.merchant())]);
            let caller = Caller::new(Authority::Credential(Arc::clone(envelope)));
            let nonce = Nonce { value: claim.nonce().to_owned(), expires_at: now.plus(NONCE_KEPT_FOR) };
            return Ok(Signed { caller, nonce });
        }
    }
    Err(SignatureProblem::Mismatch.into())
}

/// The name under which the look-ups remember that a merchant's credentials were good.
fn known_as(merchant: MerchantId) -> String {
    format!("merchant/{merchant}")
}

/// The refusal of a request that has all its headers. A merchant of v1 cannot sign at all, so the answer is
/// the version mismatch, whatever else is wrong.
async fn refusal(state: &AppState, merchant: MerchantId, problem: SignatureProblem) -> ApiError {
    match state.services.caller_book.remembered_merchant(merchant).await {
        Ok(Some(merchant)) if merchant.api_version == ApiVersion::V1 => version_mismatch(),
        Ok(_) => problem.into(),
        Err(error) => error.into(),
    }
}

fn version_mismatch() -> ApiError {
    let message = "the merchant uses version 1, whose requests carry an API key";
    ApiError::refused(ErrorCode::ApiVersionMismatch, message)
}
