//! Which members of `payout` there are, and which of them a method takes.

use crate::route::Method;

/// The members of `payout` that a route may ask for: all but the partner destination. The recipient's name is the only one that
/// goes with one.
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

/// Those of them that a payout by this method must not have: two places to pay to would leave open which is meant.
pub const fn refused_payout_fields(method: Method) -> &'static [&'static str] {
    match method {
        Method::PayId => &["bank_account", "bank_code", "bsb"],
        _ => &["payid"],
    }
}
