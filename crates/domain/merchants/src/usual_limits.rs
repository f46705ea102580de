//! The rate limits of whoever has none of their own, and the budgets that follow from them.

use crate::{
    api_key::RateLimits,
    limit::{Budget, BudgetKind, Window},
};

/// How many look-ups of credentials a second an address may cause that has used up its failures.
const LOOKUPS_PER_SECOND: u32 = 10;

/// The rate limits of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualLimits {
    /// Payment creations of a key in any minute.
    pub payment_create_per_minute: u32,
    /// Payment creations of a key in any ten seconds.
    pub payment_create_per_10s: u32,
    /// All other calls of a key in any minute.
    pub standard_per_minute: u32,
    /// Callbacks of one rail in any minute.
    pub callbacks_per_minute: u32,
    /// Failures of authentication from one client address in any minute.
    pub unauthenticated_per_minute: u32,
    /// Hosted pages and transfers of files from one client address in any minute.
    pub pages_per_minute: u32,
}

impl Default for UsualLimits {
    fn default() -> Self {
        Self {
            payment_create_per_minute: 5000,
            payment_create_per_10s: 500,
            standard_per_minute: 100,
            callbacks_per_minute: 300,
            unauthenticated_per_minute: 60,
            pages_per_minute: 300,
        }
    }
}

impl UsualLimits {
    /// The budget of one key or credential, with its own limits if it has any.
    pub fn of_key(&self, kind: BudgetKind, own: &RateLimits) -> Budget {
        match kind {
            BudgetKind::PaymentCreation => Budget::double(
                kind,
                Window::per_minute(own.create_per_minute.unwrap_or(self.payment_create_per_minute)),
                Window::new(own.create_per_10s.unwrap_or(self.payment_create_per_10s), 10),
            ),
            _ => Budget::single(
                kind,
                Window::per_minute(own.standard_per_minute.unwrap_or(self.standard_per_minute)),
            ),
        }
    }

    /// The budget of a rail for its provider's callbacks.
    pub const fn of_callbacks(&self) -> Budget {
        Budget::single(BudgetKind::Callbacks, Window::per_minute(self.callbacks_per_minute))
    }

    /// The budget of a client address: for pages and transfers, or for failed authentications.
    pub const fn of_address(&self, kind: BudgetKind) -> Budget {
        if matches!(kind, BudgetKind::Lookups) {
            return Budget::single(kind, Window::new(LOOKUPS_PER_SECOND, 1));
        }
        let limit = match kind {
            BudgetKind::Pages => self.pages_per_minute,
            BudgetKind::UnverifiedCallbacks => self.callbacks_per_minute,
            _ => self.unauthenticated_per_minute,
        };
        Budget::single(kind, Window::per_minute(limit))
    }
}
