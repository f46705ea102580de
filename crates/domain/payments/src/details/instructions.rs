//! The instructions that a payer needs to pay (docs/API.md, "Create").

use quipu_kernel::{Currency, Timestamp, is_web_url};
use quipu_merchants::is_payment_uri;
use serde::{Deserialize, Serialize};

/// A bank account to pay into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankDetails {
    /// The amount in minor units, as text.
    pub amount: String,
    /// The text to write on the transfer; it names the payment.
    pub purpose: String,
    /// Currency of the amount.
    pub currency: Currency,
    /// The name of the bank.
    pub bank_name: String,
    /// The bank's business identifier code.
    pub swift_code: Option<String>,
    /// The name of the account's holder.
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
    /// The kind of PayID: `email`, `phone` or `abn`.
    pub payid_type: String,
    /// The name that the payer's bank shows.
    pub payid_name: String,
    /// The text to write on the payment.
    pub reference: String,
}

/// A voucher to pay at a counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoucherDetails {
    /// The number to tell at the counter.
    pub reference: String,
    /// The number behind the barcode.
    pub barcode: String,
    /// The time until which it can be paid.
    pub expires_at: Option<Timestamp>,
}

/// An address to pay a cryptocurrency to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CryptoDetails {
    /// The name of the cryptocurrency.
    pub asset: String,
    /// The name of the network.
    pub network: String,
    /// The address to pay to.
    pub address: String,
    /// The same address as a URI that a wallet opens.
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
    /// For `redirectpay` and `card`: the address to send the payer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
}

/// How a payer pays: the member that instructions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayToPay<'a> {
    /// Into a bank account.
    Bank(&'a BankDetails),
    /// To a PayID.
    PayId(&'a PayIdDetails),
    /// At a counter, with a voucher.
    Voucher(&'a VoucherDetails),
    /// From a wallet, to an address.
    Crypto(&'a CryptoDetails),
    /// On another site, at this address.
    Redirect(&'a str),
}

impl Instructions {
    /// How the payer pays; `None` while there are no instructions. Of several members the first counts.
    pub fn way_to_pay(&self) -> Option<WayToPay<'_>> {
        let Self { bank_details, payid_details, voucher_details, crypto_details, redirect_url } = self;
        let bank = bank_details.as_ref().map(WayToPay::Bank);
        bank.or_else(|| payid_details.as_ref().map(WayToPay::PayId))
            .or_else(|| voucher_details.as_ref().map(WayToPay::Voucher))
            .or_else(|| crypto_details.as_ref().map(WayToPay::Crypto))
            .or_else(|| redirect_url.as_deref().map(WayToPay::Redirect))
    }

    /// Whether every address is safe to show: a web page, or a payment for a wallet. The answer of a provider
    /// is not trusted to contain no scripts.
    pub fn lead_somewhere_safe(&self) -> bool {
        let Self { bank_details: _, payid_details: _, voucher_details: _, crypto_details, redirect_url } =
            self;
        let page = redirect_url.as_deref().is_none_or(is_web_url);
        page && crypto_details.as_ref().is_none_or(|details| is_payment_uri(&details.uri))
    }
}
