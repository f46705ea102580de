//! Refusals.

use quipu_merchants::StoreUnavailable;

/// Why nothing was done to an endpoint.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EndpointError {
    /// No such endpoint, or not this tenant's.
    #[error("there is no such webhook")]
    NotFound,
    /// The tenant has as many endpoints as it may have.
    #[error("a merchant may have at most 50 webhooks in each environment")]
    LimitReached,
    /// An in-request endpoint is found by its address.
    #[error("the address of an in-request webhook cannot be changed")]
    AddressFixed,
    /// It is disabled, and what was asked for needs deliveries to go out.
    #[error("the webhook is disabled; enable it first")]
    Disabled,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreUnavailable),
}
