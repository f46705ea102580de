//! The refusals of use cases about endpoints.

use quipu_kernel::StoreError;

/// The most endpoints of a tenant; others know it as [`Endpoint::MOST`](crate::Endpoint::MOST).
pub(crate) const MOST_ENDPOINTS: u32 = 50;

/// Why a use case did nothing to an endpoint.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EndpointError {
    /// No such endpoint, or not this tenant's.
    #[error("there is no such webhook")]
    NotFound,
    /// The tenant has the greatest number of endpoints already.
    #[error("a merchant may have at most {} webhooks in each environment", MOST_ENDPOINTS)]
    LimitReached,
    /// The URL of an in-request endpoint cannot change.
    #[error("the address of an in-request webhook cannot be changed")]
    AddressFixed,
    /// The endpoint is disabled, and the request needs it enabled.
    #[error("the webhook is disabled; enable it first")]
    Disabled,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
