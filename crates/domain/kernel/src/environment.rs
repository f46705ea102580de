//! Whose data, and which of its two worlds: the pair every query is scoped by.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{ids::MerchantId, unrecognised::Unrecognised};

/// Test and live money never meet (docs/API.md, "The test environment").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Simulated payments; chosen by keys that begin `qp_test_sk_`.
    Test,
    /// Real money; chosen by keys that begin `qp_prod_sk_`.
    Live,
}

impl Environment {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Test, Self::Live];

    /// `test` or `live`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Live => "live",
        }
    }
}

impl FromStr for Environment {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text {
            "test" => Ok(Self::Test),
            "live" => Ok(Self::Live),
            _ => Err(Unrecognised { expected: "one of test, live" }),
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A merchant in one environment: the only way into a query.
///
/// Every port that reads or writes a merchant's rows takes a `Tenant`, so that a query scoped by one half,
/// or by neither, cannot be written by accident. It is made from verified credentials, or by an operator
/// who named both halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant {
    merchant: MerchantId,
    environment: Environment,
}

impl Tenant {
    /// The named merchant in the named environment.
    pub const fn new(merchant: MerchantId, environment: Environment) -> Self {
        Self { merchant, environment }
    }

    /// Whose data.
    pub const fn merchant(self) -> MerchantId {
        self.merchant
    }

    /// In which environment.
    pub const fn environment(self) -> Environment {
        self.environment
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.merchant, self.environment)
    }
}
