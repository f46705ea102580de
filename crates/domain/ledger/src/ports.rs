//! What this crate needs of a store.

use async_trait::async_trait;
use quipu_kernel::{Currency, MerchantId, Page, Tenant, Timestamp};

use crate::{
    balance::Balance,
    chain::{Chain, ChainHash, Head, Sealed},
    check::CheckReport,
};

/// Why balances could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerUnavailable {
    /// Too much is waiting; trying again in a moment may help.
    #[error("too much is waiting for the ledger")]
    Overloaded,
    /// The database could not be reached or did not answer in time; the text is for the log.
    #[error("the ledger is unavailable: {0}")]
    Unavailable(String),
    /// The store failed; the text is for the log.
    #[error("the ledger could not be read: {0}")]
    Failed(String),
}

/// Reading balances. Whatever was committed before a read began is in what it answers.
#[async_trait]
pub trait LedgerReads: Send + Sync {
    /// The balance in one currency; zero if nothing ever happened there.
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, LedgerUnavailable>;

    /// The balances of every currency with any activity, in the order of their codes.
    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, LedgerUnavailable>;

    /// Recomputes everything from the entries, over all tenants, in one consistent view of the database.
    async fn check(&self) -> Result<CheckReport, LedgerUnavailable>;
}

/// The chains over entries and audit log: made behind the commits, and never by them.
#[async_trait]
pub trait Chains: Send + Sync {
    /// Adds some of the rows that were made before `until` to their chains, unless another node does so at present. Whatever
    /// a node makes before `until` must be committed by `now`: what comes later in a place that is sealed counts as
    /// slipped in.
    async fn seal(&self, now: Timestamp, until: Timestamp) -> Result<Sealed, LedgerUnavailable>;

    /// How far each chain is sealed, by book, merchant and environment, and how many chains there are.
    async fn heads(
        &self,
        merchant: Option<MerchantId>,
        page: Page,
    ) -> Result<(Vec<Head>, u64), LedgerUnavailable>;

    /// The hash that was sealed over so many rows of a chain, if a seal ended there.
    async fn sealed(&self, chain: Chain, rows: u64) -> Result<Option<ChainHash>, LedgerUnavailable>;
}
