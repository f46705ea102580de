//! The ports that a store implements for this crate.

use std::time::Duration;

use async_trait::async_trait;
use quipu_kernel::{Currency, MerchantId, Page, StoreError, Tenant, Timestamp};

use crate::{
    balance::Balance,
    chain::{Chain, ChainHash, Head, Sealed},
    check::CheckReport,
};

/// Reading balances. A read sees everything that was committed before it began.
#[async_trait]
pub trait LedgerReads: Send + Sync {
    /// The balance in one currency; zero if nothing ever happened there.
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, StoreError>;

    /// The balances of every currency with any activity, in the order of their codes.
    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, StoreError>;

    /// Recomputes everything from the entries, over all tenants, in one consistent view of the database.
    async fn check(&self) -> Result<CheckReport, StoreError>;
}

/// The chains over entries and audit log. Rows are sealed some time after they were committed, never in the same
/// commit.
#[async_trait]
pub trait Chains: Send + Sync {
    /// Adds some of the rows that are older than `age` at `now` to their chains, unless another node does so
    /// at present. Rows that are so old must have been committed: a row that is committed later, with a place
    /// among sealed rows, counts as inserted afterwards.
    async fn extend_chains(&self, now: Timestamp, age: Duration) -> Result<Sealed, StoreError>;

    /// How far each chain is sealed, in the order of book, merchant and environment, and how many chains
    /// there are.
    async fn heads(&self, merchant: Option<MerchantId>, page: Page) -> Result<(Vec<Head>, u64), StoreError>;

    /// The hash that was sealed over the first `rows` rows of a chain, if a seal ended there.
    async fn sealed(&self, chain: Chain, rows: u64) -> Result<Option<ChainHash>, StoreError>;
}
