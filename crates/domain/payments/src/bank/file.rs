//! Files for banks, and the withdrawals in them.

use quipu_commit::Record;
use quipu_kernel::{Currency, PaymentId, Tenant, Timestamp};
use quipu_merchants::{Direction, Method, RouteKey};

use crate::payment::Payment;

/// The route whose withdrawals a file contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRoute {
    /// The tenant that owns the withdrawals.
    pub tenant: Tenant,
    /// The currency of the withdrawals.
    pub currency: Currency,
    /// The method of the withdrawals.
    pub method: Method,
    /// Whether the withdrawals go to partner destinations.
    pub partner: bool,
}

impl ExportRoute {
    /// The key by which the merchant's route is found.
    pub const fn key(&self) -> RouteKey {
        RouteKey {
            environment: self.tenant.environment(),
            currency: self.currency,
            method: self.method,
            direction: Direction::Withdrawal,
            partner: self.partner,
        }
    }
}

/// The result of searching a limited number of payments.
#[derive(Debug, Default)]
pub struct ExportStretch {
    /// The withdrawals among them that may be handed to a bank, oldest first.
    pub payments: Vec<Payment>,
    /// The last payment that was searched; `None` if the search reached the end.
    pub last: Option<PaymentId>,
}

/// A file for the bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankExport {
    /// Its identifier, which the file carries: at most 35 characters.
    pub export_id: String,
    /// The currency of its payments.
    pub currency: Currency,
    /// The method of its payments.
    pub method: Method,
    /// Whether its payments go to partner destinations.
    pub partner: bool,
    /// When it was made (UTC).
    pub created_at: Timestamp,
}

impl Record for BankExport {}

/// The record that a withdrawal is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPayment {
    /// The identifier of the withdrawal.
    pub payment_id: PaymentId,
    /// The identifier of the file.
    pub export_id: String,
}

impl Record for ExportedPayment {}
