//! v2 credentials.

use quipu_merchants::NewCredential;
use serde_json::json;

use super::{existing_merchant, merchant_of, of_part};
use crate::{
    answer::{ErrorCode, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/merchants/{id}/hmac-credentials`
pub(crate) async fn issue(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let new = NewCredential::parse(merchant, &call.json().await?)?;
    let issued = call.state.services.onboarding.issue_credential(new, staff.actor()).await?;
    envelope::one(json!({
        "credential_id": issued.record.credential_id,
        "merchant_id": merchant,
        "environment": new.tenant.environment(),
        "rate_limits": issued.record.rate_limits,
        "secret": issued.secret.expose(),
        "created_at": issued.record.created_at,
    }))
}

/// `DELETE /operator/v1/merchants/{id}/hmac-credentials/{credential_id}`
pub(crate) async fn revoke(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = merchant_of(&call)?;
    let credential_id = call.segment("credential_id");
    let revoked =
        call.state.services.onboarding.revoke_credential(merchant, credential_id, staff.actor()).await;
    revoked.map_err(of_part(ErrorCode::CredentialNotFound, "HMAC credential"))?;
    envelope::one(json!({ "credential_id": credential_id, "revoked": true }))
}
