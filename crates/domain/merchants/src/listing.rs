//! Filters of the operator's lists.

use quipu_kernel::{MerchantId, Period};

use crate::merchant::MerchantStatus;

/// A filter of the list of merchants; absent members narrow nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MerchantFilter {
    /// Only the merchant with this number.
    pub id: Option<MerchantId>,
    /// Only merchants with this status.
    pub status: Option<MerchantStatus>,
    /// Only merchants onboarded in this period.
    pub created: Period,
}

/// A filter of the audit log; absent members narrow nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only lines about this merchant.
    pub merchant: Option<MerchantId>,
    /// Only lines of this period.
    pub at: Period,
}
