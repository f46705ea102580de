//! The members of `payout`, and which of them each method takes.

use crate::route::Method;

/// The members of `payout` that a route may ask for: all but the partner destination. Only the recipient's
/// name goes together with a partner destination.
pub const PAYOUT_FIELDS: [&str; 8] = [
    "recipient_name",
    "bank_account",
    "bank_code",
    "account_type",
    "beneficiary_tax_id",
    "payid",
    "payid_type",
    "bsb",
];

/// The members that a payout by this method must not have, since with two places to pay to it would be open
/// which is meant.
pub const fn refused_payout_fields(method: Method) -> &'static [&'static str] {
    match method {
        Method::PayId => &["bank_account", "bank_code", "bsb"],
        Method::BankTransfer
        | Method::Spei
        | Method::CashStore
        | Method::Card
        | Method::Cash
        | Method::Crypto
        | Method::RedirectPay => &["payid"],
    }
}
