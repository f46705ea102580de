//! One movement of an account.

use quipu_kernel::{Amount, Currency};

/// A booked movement, as the bank tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The bank's name for it: the account and the bank's own reference. It is the same in every file that tells of this
    /// movement, as long as the bank gives references; else it follows from the statement and the place in it.
    pub id: String,
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
