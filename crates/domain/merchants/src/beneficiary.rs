//! Saved beneficiaries of partner payouts.

use std::str::FromStr;

use quipu_kernel::{Tenant, Timestamp, Unrecognised};
use serde::{Deserialize, Serialize};

/// How the beneficiary's bank is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BeneficiaryKind {
    /// A bank transfer across borders.
    Bank,
    /// A SEPA credit transfer.
    Sepa,
}

impl BeneficiaryKind {
    /// `bank` or `sepa`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Sepa => "sepa",
        }
    }
}

impl FromStr for BeneficiaryKind {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text {
            "bank" => Ok(Self::Bank),
            "sepa" => Ok(Self::Sepa),
            _ => Err(Unrecognised { expected: "one of bank, sepa" }),
        }
    }
}

/// A beneficiary that the operator saved for a merchant, named in payouts by `ibanAccountId`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beneficiary {
    /// `ibanAccountId`: 1 to 2147483647, unique within the merchant and environment.
    pub id: i32,
    /// Whose.
    pub tenant: Tenant,
    /// How its bank is reached.
    pub kind: BeneficiaryKind,
    /// International bank account number (ISO 13616).
    pub iban: String,
    /// Business identifier code (ISO 9362); a SEPA beneficiary may have none.
    pub swift: Option<String>,
    /// Name of the account's holder.
    pub beneficiary_name: String,
    /// Name of the bank.
    pub beneficiary_bank: Option<String>,
    /// Postal address.
    pub address: Option<String>,
    /// Text that goes with every payout.
    pub reference: Option<String>,
    /// When it was saved.
    pub created_at: Timestamp,
}
