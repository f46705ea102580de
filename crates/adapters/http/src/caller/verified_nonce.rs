//! The nonce of a signed request on its way to being used up.

use std::sync::Arc;

use quipu_commit::Nonce;
use quipu_kernel::Tenant;
use quipu_payments::CreatePayment;
use tokio::runtime::Handle;

use crate::answer::ApiError;

/// The nonce of a request whose signature has verified. It is used up whatever becomes of the request, unless
/// it is released: if the client resets its connection, the web server drops the handler, and this with it.
pub(crate) struct VerifiedNonce {
    create: Arc<CreatePayment>,
    tenant: Tenant,
    nonce: Nonce,
    is_settled: bool,
}

impl VerifiedNonce {
    pub(crate) const fn new(create: Arc<CreatePayment>, tenant: Tenant, nonce: Nonce) -> Self {
        Self { create, tenant, nonce, is_settled: false }
    }

    /// Uses it up.
    pub(crate) async fn burn(mut self) -> Result<(), ApiError> {
        let burnt = self.create.burn(self.tenant, self.nonce.clone()).await;
        self.is_settled = true;
        Ok(burnt?)
    }

    /// Leaves it to somebody else, who uses it up or not.
    pub(crate) fn release(mut self) -> Nonce {
        self.is_settled = true;
        self.nonce.clone()
    }
}

impl Drop for VerifiedNonce {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        // There is a runtime unless the process ends.
        if let Ok(runtime) = Handle::try_current() {
            let (create, tenant, nonce) = (Arc::clone(&self.create), self.tenant, self.nonce.clone());
            // Nobody is left to hear that it was used before, or could not be used up.
            runtime.spawn(async move { drop(create.burn(tenant, nonce).await) });
        }
    }
}
