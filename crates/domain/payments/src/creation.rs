//! Requests to create payments.

use quipu_commit::Nonce;
use quipu_kernel::Tenant;
use quipu_merchants::ReturnUrls;

use crate::{draft::Draft, invalid::InvalidDraft};

/// A request to create a payment, from whom it comes, and what its signature used up.
#[derive(Debug, Clone)]
pub struct Creation {
    /// Whose payment.
    pub tenant: Tenant,
    /// The request, or all that is wrong with it: an invalid one must burn its nonce too, and must not slip past an
    /// idempotency key that stands for another.
    pub draft: Result<Draft, InvalidDraft>,
    /// The merchant's return URLs, for members the request does not give.
    pub default_return_urls: ReturnUrls,
    /// The nonce of a verified v2 signature.
    pub nonce: Option<Nonce>,
}
