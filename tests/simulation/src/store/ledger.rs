//! What is read of balances.

use async_trait::async_trait;
use quipu_kernel::{Currency, StoreError, Tenant};
use quipu_ledger::{Balance, CheckReport, LedgerReads};

use super::{MemoryStore, check};
use crate::turns::give_way;

#[async_trait]
impl LedgerReads for MemoryStore {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, StoreError> {
        give_way().await;
        Ok(self.contents().balance(tenant, currency))
    }

    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, StoreError> {
        give_way().await;
        Ok(self.contents().balances(tenant))
    }

    async fn check(&self) -> Result<CheckReport, StoreError> {
        give_way().await;
        Ok(check::report(&self.contents()))
    }
}
