//! Where a withdrawal goes (specification, "Payout object").

use std::str::FromStr;

use quipu_kernel::Unrecognised;
use serde::{Deserialize, Serialize};

use crate::Destination;

/// What a PayID is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayIdType {
    /// An e-mail address.
    Email,
    /// A telephone number.
    Phone,
    /// An Australian business number.
    Abn,
}

impl FromStr for PayIdType {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text {
            "email" => Ok(Self::Email),
            "phone" => Ok(Self::Phone),
            "abn" => Ok(Self::Abn),
            _ => Err(Unrecognised { expected: "one of email, phone, abn" }),
        }
    }
}

/// The recipient of a withdrawal. Members are those of the request; which of them a payment has depends on its route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Payout {
    /// The recipient's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_name: Option<String>,
    /// Account number: CBU, CLABE or the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_account: Option<String>,
    /// Bank routing code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_code: Option<String>,
    /// Account type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_type: Option<String>,
    /// Tax id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beneficiary_tax_id: Option<String>,
    /// A PayID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payid: Option<String>,
    /// What the PayID is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payid_type: Option<PayIdType>,
    /// Bank-state-branch code, 6 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsb: Option<String>,
    /// A partner destination, which excludes every member above but `recipient_name`.
    #[serde(rename = "partnerDestination", skip_serializing_if = "Option::is_none")]
    pub partner_destination: Option<Destination>,
}
