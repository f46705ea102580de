//! Where money can be.

use std::str::FromStr;

use quipu_kernel::Unrecognised;

/// An account of the ledger, within one tenant and currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// The merchant's money, free for withdrawals.
    Available,
    /// The merchant's money, reserved by open withdrawals.
    Frozen,
    /// The platform's money at the rails.
    Clearing,
    /// Fees the platform earned.
    Revenue,
    /// The other side of pre-funding and corrections.
    Adjustments,
}

impl Account {
    /// The name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Frozen => "frozen",
            Self::Clearing => "clearing",
            Self::Revenue => "revenue",
            Self::Adjustments => "adjustments",
        }
    }
}

impl FromStr for Account {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let all = [Self::Available, Self::Frozen, Self::Clearing, Self::Revenue, Self::Adjustments];
        let found = all.into_iter().find(|account| account.as_str() == text);
        found.ok_or(Unrecognised { expected: "a known account" })
    }
}
