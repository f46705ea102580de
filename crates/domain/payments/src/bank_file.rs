//! Files for banks, and what is in them.

use quipu_commit::Record;
use quipu_kernel::{Currency, PaymentId, Tenant, Timestamp};
use quipu_merchants::Method;

use crate::payment::Payment;

/// Which withdrawals a file is of: those of one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRoute {
    /// Whose.
    pub tenant: Tenant,
    /// In which currency.
    pub currency: Currency,
    /// By which method.
    pub method: Method,
    /// Whether they go to partner destinations.
    pub partner: bool,
}

/// What was found by looking at a limited number of payments.
#[derive(Debug, Default)]
pub struct ExportStretch {
    /// The withdrawals among them that may be handed to a bank, oldest first.
    pub payments: Vec<Payment>,
    /// The last payment that was looked at; none if there is none behind it.
    pub last: Option<PaymentId>,
}

/// A file for the bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankExport {
    /// Its identifier, which the file carries: at most 35 characters.
    pub export_id: String,
    /// Its payments' currency.
    pub currency: Currency,
    /// Their method.
    pub method: Method,
    /// Whether they go to partner destinations.
    pub partner: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Record for BankExport {}

/// The record that a withdrawal is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPayment {
    /// The withdrawal.
    pub payment_id: PaymentId,
    /// The file.
    pub export_id: String,
}

impl Record for ExportedPayment {}
