//! A movement on an account.

use quipu_kernel::{Amount, Currency};

/// A booked movement, as the bank reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the statement in the file, from 1.
    pub statement: usize,
    /// The number of the account.
    pub account: String,
    /// The bank's own reference. It is the same in every file that contains this movement, but other
    /// movements may have it too: the transfers of one batch, a fee, a return. If the bank gives none, a text
    /// made from the statement's identifier, the position in it, the day and the text takes its place.
    pub reference: String,
    /// Whether money came in.
    pub is_credit: bool,
    /// Whether it undoes an earlier movement: a reversal, or a transfer that came back.
    pub is_return: bool,
    /// Amount in minor units, never negative.
    pub amount: Amount,
    /// Currency of the amount.
    pub currency: Currency,
    /// The identifier that the payer gave the transfer. Details that are booked as one movement have none
    /// together.
    pub end_to_end_id: Option<String>,
    /// All texts that may name a payment: end-to-end identifier, instruction identifier, remittance texts.
    pub texts: Vec<String>,
    /// Why the money came back: the reason's code and its explanation.
    pub return_reason: Option<String>,
}
