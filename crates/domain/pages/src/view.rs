//! What a payment's page is made from.

use quipu_kernel::Timestamp;
use quipu_payments::Payment;

use crate::{brand::Brand, form::Filled, words::Words};

/// Everything that a payment's page is made from.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The payment.
    pub payment: &'a Payment,
    /// The brand of its merchant.
    pub brand: &'a Brand,
    /// The words in the language of the page.
    pub words: Words,
    /// The current time (UTC).
    pub now: Timestamp,
    /// The path of the public address, without a slash at its end.
    pub root: &'a str,
    /// The token in the page's address.
    pub token: &'a str,
    /// The members of `payout` that the payment's route needs, for a payment that waits for its recipient.
    pub members: &'a [String],
    /// The values entered before, if they have to be corrected or came too late.
    pub filled: Option<&'a Filled>,
}
