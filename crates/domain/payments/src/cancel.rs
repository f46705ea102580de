//! Cancelling a withdrawal that was not submitted yet.

use std::sync::Arc;

use quipu_kernel::{Clock, Entropy, PaymentId, Tenant};

use crate::{CancelError, Commit, Payment, PaymentReads};

/// Cancels payments for merchants.
pub struct CancelPayment {}

impl CancelPayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        unimplemented!()
    }

    /// Cancels a payment of the tenant and answers it as it stands afterwards. The reason (at most 500 characters, judged
    /// by the caller) becomes the message of its failure.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        reason: Option<String>,
    ) -> Result<Payment, CancelError> {
        unimplemented!()
    }
}
