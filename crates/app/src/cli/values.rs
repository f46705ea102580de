//! Parsers of the values on the command line that are in no body of the operator's interface. The others are
//! put into a body, which is read as one that comes over HTTP: same rules, same words.

use quipu_kernel::{CustomerId, MerchantId};

/// A merchant's number.
pub(super) fn merchant(text: &str) -> Result<MerchantId, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(MerchantId).ok_or_else(|| "must be a merchant's number".to_owned())
}

/// A customer's number.
pub(super) fn customer(text: &str) -> Result<CustomerId, String> {
    let id = text.parse().ok().and_then(CustomerId::admitted);
    id.ok_or_else(|| "must be from 1 to 2^53 - 1".to_owned())
}

/// A number for a member of a body, which has the bounds.
pub(super) fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "must be an integer".to_owned())
}
