//! Requests to create payments.

use quipu_commit::Nonce;
use quipu_kernel::Tenant;
use quipu_merchants::ReturnUrls;

use crate::request::{draft::Draft, invalid::InvalidDraft};

/// A request to create a payment, with its sender's tenant and nonce.
#[derive(Debug, Clone)]
pub struct Creation {
    /// The tenant that will own the payment.
    pub tenant: Tenant,
    /// The request, or everything that is wrong with it: an invalid request must use up its nonce too, and
    /// must not slip past an idempotency key that stands for another one.
    pub draft: Result<Draft, InvalidDraft>,
    /// The merchant's return URLs, used for members that the request does not give.
    pub default_return_urls: ReturnUrls,
    /// The nonce of a verified v2 signature.
    pub nonce: Option<Nonce>,
}
