//! What a decision changes: applied by the store whole or not at all.

use quipu_kernel::{CustomerId, Tenant, Timestamp};
use quipu_ledger::Transaction;
use quipu_merchants::AuditRecord;
use quipu_webhooks::Event;

use crate::{idempotency::IdempotencyRecord, payment::Payment, status::Status};

/// A payment that is new, or that changes.
#[derive(Debug, Clone)]
pub enum PaymentChange {
    /// A new payment. Refused if its reference is held by another.
    Created(Box<Payment>),
    /// A payment whose state changes. Refused as stale unless it still stands at `from` and `from_version`. Where the
    /// version is the same afterwards, only what carries no version changed (what is due, instructions).
    Moved {
        /// The status it had.
        from: Status,
        /// The version it had.
        from_version: i32,
        /// The payment afterwards.
        payment: Box<Payment>,
    },
}

/// How the customer of a new payment is settled inside the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomerClaim {
    /// The request named a customer, and it exists.
    Known,
    /// The customer is matched within the tenant by e-mail address, or by telephone number if there is none; if nobody
    /// matches it is made under this number, or the next that is free.
    MatchOrCreate(CustomerId),
}

/// A number used once, of a verified v2 signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce {
    /// The text, 8 to 128 characters, unique within the merchant while it is kept.
    pub value: String,
    /// Until when a second use is refused.
    pub expires_at: Timestamp,
}

/// Everything one decision changes, within one tenant.
#[derive(Debug, Clone)]
pub struct Changes {
    /// Whose.
    pub tenant: Tenant,
    /// When it was decided.
    pub at: Timestamp,
    /// The payment.
    pub payment: Option<PaymentChange>,
    /// The customer of a new payment.
    pub customer: Option<CustomerClaim>,
    /// Money that moves.
    pub transactions: Vec<Transaction>,
    /// Money that will move when a new payment completes. It is not posted; the change is refused if the balance, as the
    /// transactions leave it, could not bear it.
    pub foreseen: Option<Transaction>,
    /// Events to be delivered.
    pub events: Vec<Event>,
    /// The answer to be repeated.
    pub idempotency: Option<IdempotencyRecord>,
    /// The nonce to be burnt. It is burnt even when the rest is refused, since its signature has verified; only a
    /// nonce that was used before refuses everything.
    pub nonce: Option<Nonce>,
    /// What the audit log says of it.
    pub audit: Option<AuditRecord>,
}

impl Changes {
    /// Nothing yet.
    pub const fn new(tenant: Tenant, at: Timestamp) -> Self {
        Self {
            tenant,
            at,
            payment: None,
            customer: None,
            transactions: Vec::new(),
            foreseen: None,
            events: Vec::new(),
            idempotency: None,
            nonce: None,
            audit: None,
        }
    }
}

/// What a commit settled.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// The payment as it stands now, its customer named.
    pub payment: Option<Box<Payment>>,
    /// The answer that was kept, as it is to be sent.
    pub answer: Option<crate::idempotency::Answer>,
}
