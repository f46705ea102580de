//! What the payer needs to pay (docs/API.md, "Create").

use quipu_kernel::{Currency, Timestamp, is_web_url};
use quipu_merchants::is_payment_uri;
use serde::{Deserialize, Serialize};

/// A bank account to pay into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankDetails {
    /// The amount in minor units, as text.
    pub amount: String,
    /// What to write on the transfer; it references the payment.
    pub purpose: String,
    /// In which currency.
    pub currency: Currency,
    /// The bank.
    pub bank_name: String,
    /// Its business identifier code.
    pub swift_code: Option<String>,
    /// Whose account.
    pub account_holder: String,
    /// Account number; for `spei` the CLABE.
    pub account_number: String,
    /// Bank-state-branch code, for AUD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bsb: Option<String>,
}

/// A PayID to pay to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayIdDetails {
    /// The PayID.
    pub payid: String,
    /// What it is: `email`, `phone` or `abn`.
    pub payid_type: String,
    /// The name that the payer's bank shows.
    pub payid_name: String,
    /// What to write on the payment.
    pub reference: String,
}

/// A voucher to pay at a counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoucherDetails {
    /// The number to tell.
    pub reference: String,
    /// The number to scan.
    pub barcode: String,
    /// Until when it can be paid.
    pub expires_at: Option<Timestamp>,
}

/// An address to pay a cryptocurrency to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CryptoDetails {
    /// Which one.
    pub asset: String,
    /// On which network.
    pub network: String,
    /// The address.
    pub address: String,
    /// The same for a wallet to open.
    pub uri: String,
}

/// Instructions by method; each method fills one member, and the members stand at the top level of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// For `bank_transfer` and `spei`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_details: Option<BankDetails>,
    /// For `payid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payid_details: Option<PayIdDetails>,
    /// For `cash` and `cashstore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voucher_details: Option<VoucherDetails>,
    /// For `crypto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_details: Option<CryptoDetails>,
    /// For `redirectpay` and `card`: where to send the payer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
}

impl Instructions {
    /// Whether every address leads where one may be sent: a page of the web, a wallet's payment. What a provider answers is
    /// not trusted to hold nothing that a browser would run.
    pub fn lead_somewhere_safe(&self) -> bool {
        let page = self.redirect_url.as_deref().is_none_or(is_web_url);
        page && self.crypto_details.as_ref().is_none_or(|details| is_payment_uri(&details.uri))
    }
}
