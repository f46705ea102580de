//! The rate limits of whoever has none of their own, and the budgets that follow from them.

use crate::{
    api_key::RateLimits,
    limit::{Budget, BudgetKind, Window},
};

/// Credential look-ups per second left to an address that has used up its failures.
const LOOKUPS_PER_SECOND: u32 = 10;

/// The budgets of a key or credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyBudget {
    /// [`BudgetKind::PaymentCreation`].
    PaymentCreation,
    /// [`BudgetKind::Standard`].
    Standard,
}

/// The budgets of a client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressBudget {
    /// [`BudgetKind::Pages`].
    Pages,
    /// [`BudgetKind::UnverifiedCallbacks`].
    UnverifiedCallbacks,
    /// [`BudgetKind::Unauthenticated`].
    Unauthenticated,
    /// [`BudgetKind::Lookups`].
    Lookups,
}

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
    pub fn of_key(&self, budget: KeyBudget, own: &RateLimits) -> Budget {
        match budget {
            KeyBudget::PaymentCreation => Budget::double(
                BudgetKind::PaymentCreation,
                Window::per_minute(own.create_per_minute.unwrap_or(self.payment_create_per_minute)),
                Window::new(own.create_per_10s.unwrap_or(self.payment_create_per_10s), 10),
            ),
            KeyBudget::Standard => Budget::single(
                BudgetKind::Standard,
                Window::per_minute(own.standard_per_minute.unwrap_or(self.standard_per_minute)),
            ),
        }
    }

    /// The budget of a rail for its provider's callbacks.
    pub const fn of_callbacks(&self) -> Budget {
        Budget::single(BudgetKind::Callbacks, Window::per_minute(self.callbacks_per_minute))
    }

    /// The budget of a client address.
    pub const fn of_address(&self, budget: AddressBudget) -> Budget {
        let (kind, window) = match budget {
            AddressBudget::Pages => (BudgetKind::Pages, Window::per_minute(self.pages_per_minute)),
            AddressBudget::UnverifiedCallbacks => {
                (BudgetKind::UnverifiedCallbacks, Window::per_minute(self.callbacks_per_minute))
            }
            AddressBudget::Unauthenticated => {
                (BudgetKind::Unauthenticated, Window::per_minute(self.unauthenticated_per_minute))
            }
            AddressBudget::Lookups => (BudgetKind::Lookups, Window::new(LOOKUPS_PER_SECOND, 1)),
        };
        Budget::single(kind, window)
    }
}
