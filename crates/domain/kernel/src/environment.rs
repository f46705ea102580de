//! The tenant: a merchant in one of its two environments.

use std::fmt;

use crate::{ids::MerchantId, wire_names};

wire_names! {
    /// Test and live money never meet (docs/API.md, "The test environment").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Environment {
        /// Simulated payments; chosen by keys that begin `qp_test_sk_`.
        Test = "test",
        /// Real money; chosen by keys that begin `qp_prod_sk_`.
        Live = "live",
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A merchant in one environment.
///
/// The ports through which merchants' calls reach payments, balances, tickets and webhooks take a `Tenant`, so that a
/// query scoped by one half, or by neither, cannot be written by accident. What a merchant has in both environments,
/// such as its routes, is found by its number, and ports for staff, rails and workers say that they cross tenants. A
/// tenant is made from verified credentials, or by an operator who named both halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant {
    merchant: MerchantId,
    environment: Environment,
}

impl Tenant {
    /// The tenant of rows that belong to no merchant or to all of them; no real merchant has its number.
    pub const NOBODY: Self = Self::new(MerchantId(0), Environment::Live);

    /// The named merchant in the named environment.
    pub const fn new(merchant: MerchantId, environment: Environment) -> Self {
        Self { merchant, environment }
    }

    /// The merchant.
    pub const fn merchant(self) -> MerchantId {
        self.merchant
    }

    /// The environment.
    pub const fn environment(self) -> Environment {
        self.environment
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.merchant, self.environment)
    }
}
