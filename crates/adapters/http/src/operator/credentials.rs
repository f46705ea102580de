//! v2 credentials.

use quipu_kernel::{Fields, Problems};
use serde_json::json;

use super::{existing_merchant, merchant_of, of_part, tenant_of};
use crate::{
    answer::{ErrorCode, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/merchants/{id}/hmac-credentials`
pub(crate) async fn issue(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let body = call.json().await?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &Fields::of_body(&body)?, &mut problems);
    let tenant = problems.admit(tenant)?;
    let issued = call.state.services.onboarding.issue_credential(tenant, staff.actor()).await?;
    envelope::one(json!({
        "credential_id": issued.record.credential_id,
        "merchant_id": merchant,
        "environment": tenant.environment(),
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
