//! Where a partner payout goes (specification, "Partner destination").

use serde::{Deserialize, Serialize};

/// How a wallet is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WalletScheme {
    /// 8 to 15 digits.
    Phone,
    /// An e-mail address.
    Email,
    /// 6 to 12 digits.
    NationalPassport,
    /// 1 to 100 ASCII letters, digits, underscores and hyphens.
    ReferenceId,
}

/// A bank account abroad with its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BankBeneficiary {
    /// International bank account number: 15 to 34 capitals and digits.
    pub iban: String,
    /// Business identifier code: 8 or 11 capitals and digits. A saved SEPA beneficiary may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swift: Option<String>,
    /// The account's holder.
    pub beneficiary_name: String,
    /// The bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beneficiary_bank: Option<String>,
    /// Postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Text that goes with the payout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// Exactly one form of destination, written as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Destination {
    /// A wallet.
    Wallet {
        /// How it is named.
        scheme: WalletScheme,
        /// Its name.
        value: String,
    },
    /// A bank account: a saved beneficiary's, or one given in the request.
    Bank {
        /// The saved beneficiary, as a decimal text.
        #[serde(rename = "ibanAccountId", skip_serializing_if = "Option::is_none")]
        iban_account_id: Option<String>,
        /// The account: given in the request, or looked up when the payment was created.
        #[serde(skip_serializing_if = "Option::is_none")]
        bank: Option<BankBeneficiary>,
    },
    /// A saved SEPA beneficiary.
    Sepa {
        /// The saved beneficiary, as a decimal text.
        #[serde(rename = "ibanAccountId")]
        iban_account_id: String,
        /// The account, looked up when the payment was created.
        #[serde(skip_serializing_if = "Option::is_none")]
        bank: Option<BankBeneficiary>,
    },
}

impl Destination {
    /// The bank account behind it, if it is one.
    pub const fn bank(&self) -> Option<&BankBeneficiary> {
        match self {
            Self::Wallet { .. } => None,
            Self::Bank { bank, .. } | Self::Sepa { bank, .. } => bank.as_ref(),
        }
    }
}
