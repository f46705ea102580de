//! What kind of payment a payment is.

use std::str::FromStr;

use quipu_kernel::Unrecognised;
use quipu_merchants::Direction;
use serde::{Deserialize, Serialize};

/// Which way the money goes, and whether the payer or recipient uses a hosted page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentType {
    /// Money in.
    Deposit,
    /// Money out.
    Withdrawal,
    /// Money in, by a hosted page.
    DepositPp,
    /// Money out; the recipient may fill in where to on a hosted page.
    WithdrawalPp,
}

impl PaymentType {
    /// Every type, in the order of the documents.
    pub const ALL: [Self; 4] = [Self::Deposit, Self::Withdrawal, Self::DepositPp, Self::WithdrawalPp];

    /// The name in the interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
            Self::DepositPp => "deposit_pp",
            Self::WithdrawalPp => "withdrawal_pp",
        }
    }

    /// Whether it has a hosted page.
    pub const fn has_page(self) -> bool {
        matches!(self, Self::DepositPp | Self::WithdrawalPp)
    }

    /// Which way the money goes.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Deposit | Self::DepositPp => Direction::Deposit,
            Self::Withdrawal | Self::WithdrawalPp => Direction::Withdrawal,
        }
    }
}

impl FromStr for PaymentType {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or(Unrecognised { expected: "one of deposit, withdrawal, deposit_pp, withdrawal_pp" })
    }
}

/// The merchant's own sorting of its traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficType {
    /// First-time or ordinary traffic.
    Primary,
    /// Returning traffic.
    Secondary,
    /// Traffic of the merchant's most valued customers.
    Vip,
}

impl FromStr for TrafficType {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text {
            "primary" => Ok(Self::Primary),
            "secondary" => Ok(Self::Secondary),
            "vip" => Ok(Self::Vip),
            _ => Err(Unrecognised { expected: "one of primary, secondary, vip" }),
        }
    }
}

/// The scheme that a `redirectpay` payment is restricted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RedirectScheme {
    /// Visa cards.
    Visa,
    /// Mastercard cards.
    Mc,
    /// The scheme's own wallet.
    RedirectPay,
    /// Sri Lanka's QR scheme.
    Lqr,
}

impl FromStr for RedirectScheme {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text {
            "VISA" => Ok(Self::Visa),
            "MC" => Ok(Self::Mc),
            "REDIRECTPAY" => Ok(Self::RedirectPay),
            "LQR" => Ok(Self::Lqr),
            _ => Err(Unrecognised { expected: "one of VISA, MC, REDIRECTPAY, LQR" }),
        }
    }
}
