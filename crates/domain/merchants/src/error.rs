//! Refusals of the directory of merchants.

use quipu_kernel::StoreError;

/// Why a change to the directory of merchants was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DirectoryError {
    /// No such merchant, key, credential or route, or not this merchant's.
    #[error("not found")]
    NotFound,
    /// A bound was reached, such as two active HMAC credentials; the text names it.
    #[error("{0}")]
    LimitReached(&'static str),
    /// Somebody else has changed it since it was read; decide again.
    #[error("changed meanwhile")]
    Stale,
    /// The change does not fit the merchant's state; the text says why.
    #[error("{0}")]
    Conflict(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
