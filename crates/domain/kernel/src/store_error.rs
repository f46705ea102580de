//! The error that every port of a store reports.

/// Why a store did not do what it was asked for. The text is for the log; it never reaches a client.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The queue of waiting work is full; the caller may try again in a moment.
    #[error("the store is overloaded")]
    Overloaded,
    /// The database could not be reached, did not answer in time or refused. Nothing was written, and the
    /// caller may try again in a moment.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// It cannot be learnt whether the change was made. The same change under the same key or reference happens once,
    /// however often it is asked for.
    #[error("the store cannot say whether the change was made: {0}")]
    OutcomeUnknown(String),
    /// What is stored, or the program, is wrong; trying again does not help.
    #[error("the store failed: {0}")]
    Failed(String),
}
