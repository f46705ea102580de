//! Pre-funding and correcting balances.

use std::sync::Arc;

use quipu_kernel::{Clock, Currency, Minor, Tenant};
use quipu_merchants::AuditRecord;

use crate::{AdjustError, Commit};

/// Adjusts balances for the operator.
pub struct AdjustBalance {}

impl AdjustBalance {
    /// The use case over these ports.
    pub fn new(commit: Arc<dyn Commit>, clock: Arc<dyn Clock>) -> Self {
        unimplemented!()
    }

    /// Adds `amount` (signed) to the tenant's available balance, with the audit line that tells of it.
    pub async fn run(
        &self,
        tenant: Tenant,
        currency: Currency,
        amount: Minor,
        audit: AuditRecord,
    ) -> Result<(), AdjustError> {
        unimplemented!()
    }
}
