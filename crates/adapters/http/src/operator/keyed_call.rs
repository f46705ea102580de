//! Calls of staff under an `Idempotency-Key`, each carried out once. These keys are separate from the
//! merchant's.

use std::sync::Arc;

use quipu_commit::IdempotencyKey;
use quipu_kernel::Tenant;
use quipu_payments::{StaffAttempt, StaffCall, StaffRequest};
use quipu_signing::sha256_hex;

use crate::{call::Call, error::ApiError};

/// The attempt of `call` under its key. Its method, path and body are what a repeat is compared with.
pub(super) async fn attempt(
    call: &Call,
    tenant: Tenant,
    what: StaffCall<'_>,
    key: &IdempotencyKey,
) -> Result<StaffAttempt, ApiError> {
    let (method, path) = (call.request.method(), call.request.path());
    let asked = [method.as_str().as_bytes(), b" ", path.as_bytes(), b"\n", &call.body().await?].concat();
    let request = StaffRequest { tenant, call: what, key, request_hash: sha256_hex(&asked), at: call.now };
    let services = &call.state.services;
    Ok(StaffAttempt::new(Arc::clone(&services.payments), Arc::clone(&services.commit), request))
}
