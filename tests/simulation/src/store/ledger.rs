//! What is read of balances.

use async_trait::async_trait;
use quipu_kernel::{Currency, Tenant};
use quipu_ledger::{Balance, CheckReport, LedgerReads, LedgerUnavailable};

use super::{MemoryStore, check};
use crate::turns::give_way;

#[async_trait]
impl LedgerReads for MemoryStore {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, LedgerUnavailable> {
        give_way().await;
        Ok(self.contents().balance(tenant, currency))
    }

    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, LedgerUnavailable> {
        give_way().await;
        Ok(self.contents().balances(tenant))
    }

    async fn check(&self) -> Result<CheckReport, LedgerUnavailable> {
        give_way().await;
        Ok(check::report(&self.contents()))
    }
}
