//! The operator's interface for staff (docs/openapi-operator.json). Its actions are those of
//! [`Onboarding`](quipu_merchants::Onboarding), which the command line uses too; every change includes its
//! entry of the audit log.

pub(crate) mod adjustments;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod beneficiaries;
pub(crate) mod credentials;
pub(crate) mod decisions;
mod keyed_decision;
pub(crate) mod ledger;
pub(crate) mod merchants;
pub(crate) mod operators;
pub(crate) mod page;
pub(crate) mod payments;
pub(crate) mod receipts;
pub(crate) mod refunds;
pub(crate) mod routes;
pub(crate) mod tickets;
pub(crate) mod webhooks;

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Tenant};
use quipu_merchants::{DirectoryError, Merchant};

use crate::{
    answer::{ApiError, ErrorCode},
    request::Call,
};

/// The merchant that the path names; an invalid number is answered 404.
fn merchant_of(call: &Call) -> Result<MerchantId, ApiError> {
    call.merchant_id().ok_or_else(ApiError::merchant_not_found)
}

/// The merchant that the path names, which must exist. A handler reads the body only after this check, so
/// that no client sends a body about a merchant who does not exist.
async fn existing_merchant(call: &Call) -> Result<Merchant, ApiError> {
    let found = call.state.services.directory.merchant(merchant_of(call)?).await?;
    found.ok_or_else(ApiError::merchant_not_found)
}

/// The merchant of the path in the environment of the body.
fn tenant_of(merchant: MerchantId, fields: &Fields<'_>, problems: &mut Problems) -> Option<Tenant> {
    let environment = fields.required_parsed::<Environment>("environment", problems)?;
    Some(Tenant::new(merchant, environment))
}

/// A refusal about a part of a merchant rather than about the merchant.
fn of_part(code: ErrorCode, what: &str) -> impl FnOnce(DirectoryError) -> ApiError {
    let message = format!("there is no such {what}");
    move |error| match error {
        DirectoryError::NotFound => ApiError::refused(code, message),
        other => other.into(),
    }
}
