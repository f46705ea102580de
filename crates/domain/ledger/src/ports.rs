//! What this crate needs of a store.

use async_trait::async_trait;
use quipu_kernel::{Currency, Tenant};

use crate::{Balance, CheckReport};

/// The store could not be read; the text is for the log.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the ledger could not be read: {0}")]
pub struct LedgerUnavailable(pub String);

/// Reading balances.
#[async_trait]
pub trait LedgerReads: Send + Sync {
    /// The balance in one currency; zero if nothing ever happened there.
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, LedgerUnavailable>;

    /// The balances of every currency with any activity, in the order of their codes.
    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, LedgerUnavailable>;

    /// Recomputes everything from the entries, over all tenants, in one consistent view of the database.
    async fn check(&self) -> Result<CheckReport, LedgerUnavailable>;
}
