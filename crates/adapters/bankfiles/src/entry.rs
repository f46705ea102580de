//! One movement of an account.

use quipu_kernel::{Amount, Currency};

/// A booked movement, as the bank tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which statement of the file tells of it, from 1.
    pub statement: usize,
    /// The account.
    pub account: String,
    /// The bank's own reference. It is the same in every file that tells of this movement, but other movements may have it
    /// too: the transfers of one batch, a fee, a return. Where the bank gives none, what takes its place follows from the
    /// statement's identifier, the place in it, the day and the text.
    pub reference: String,
    /// Whether money came in.
    pub is_credit: bool,
    /// Whether it undoes an earlier movement: a reversal, or a transfer that came back.
    pub is_return: bool,
    /// How much.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// Everything that may name a payment: end-to-end identifier, instruction identifier, remittance texts.
    pub texts: Vec<String>,
    /// Why it came back: the reason's code and its explanation.
    pub return_reason: Option<String>,
}
