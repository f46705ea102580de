//! Refusals of the directory of merchants.

/// The database could not be asked or did not answer. The text is for the log; it never reaches a client.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreUnavailable {
    /// The queue of waiting work is full; the caller may try again in a moment (503 `OVERLOADED`).
    #[error("the store is overloaded")]
    Overloaded,
    /// The database could not be reached, did not answer in time or refused. Nothing was written, and the
    /// caller may try again in a moment (503 `OVERLOADED`).
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// It cannot be learnt whether the change was made (504 `payment_create_outcome_unknown`). The same change under
    /// the same key or reference happens once, however often it is asked for.
    #[error("the store cannot say whether the change was made: {0}")]
    Unknown(String),
    /// What is stored, or the program, is wrong; trying again does not help.
    #[error("the store failed: {0}")]
    Failed(String),
}

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
    Store(#[from] StoreUnavailable),
}
