//! What a decision changes: applied by the store whole or not at all.

use std::any::Any;

use quipu_kernel::{PaymentId, Tenant, Timestamp};
use quipu_ledger::Transaction;

use crate::{
    answer::{Answer, IdempotencyRecord},
    join::Join,
    name::NameChange,
    record::{Expect, Record, Save},
    tally::Tally,
    work::WorkChange,
};

/// A text used once, from a verified v2 signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce {
    /// The text, 8 to 128 characters, unique within the merchant while it is kept.
    pub value: String,
    /// The time until which a second use is refused.
    pub expires_at: Timestamp,
}

/// Everything one decision changes, within one tenant.
#[derive(Debug)]
pub struct Changes {
    /// The tenant that owns everything that changes.
    pub tenant: Tenant,
    /// When it was decided (UTC).
    pub at: Timestamp,
    /// The nonce to be used up. It is used up even when the rest is refused, since its signature has
    /// verified; only a nonce that was used before refuses everything.
    pub nonce: Option<Nonce>,
    /// The answer to be kept for repeats of the request.
    pub idempotency: Option<IdempotencyRecord>,
    /// Aggregates that the decision rests on without changing them; they must still stand at these revisions.
    pub expects: Vec<Expect>,
    /// Aggregates that were read and changed, as they are to be written.
    pub saves: Vec<Save>,
    /// Unique names that change hands.
    pub names: Vec<NameChange>,
    /// Things that are found by a name or else made, such as a customer.
    pub joins: Vec<Join>,
    /// Transactions to be posted to the ledger.
    pub transactions: Vec<Transaction>,
    /// The payment for which the money moves.
    pub payment_id: Option<PaymentId>,
    /// Money that will move when a new payment completes. It is not posted; the change is refused if the
    /// balance, as the transactions leave it, could not bear it.
    pub foreseen: Option<Transaction>,
    /// Counters that change.
    pub tallies: Vec<Tally>,
    /// Rows that are only ever added: events, lines of the audit log.
    pub rows: Vec<Box<dyn Record>>,
    /// Work for later, added or removed.
    pub work: Vec<WorkChange>,
}

impl Changes {
    /// A change of nothing yet.
    pub const fn new(tenant: Tenant, at: Timestamp) -> Self {
        Self {
            tenant,
            at,
            nonce: None,
            idempotency: None,
            expects: Vec::new(),
            saves: Vec::new(),
            names: Vec::new(),
            joins: Vec::new(),
            transactions: Vec::new(),
            payment_id: None,
            foreseen: None,
            tallies: Vec::new(),
            rows: Vec::new(),
            work: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn add(&mut self, record: impl Record) {
        self.rows.push(Box::new(record));
    }

    /// The first saved record of this type.
    pub fn saved<T: Record>(&self) -> Option<&T> {
        self.saves.iter().find_map(|save| (&*save.record as &dyn Any).downcast_ref())
    }

    /// The rows of this type.
    pub fn rows_of<T: Record>(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().filter_map(|record| (&**record as &dyn Any).downcast_ref())
    }
}

/// The result of a commit.
#[derive(Debug, Default)]
pub struct Committed {
    /// The saved records, as they stand now.
    pub saved: Vec<Box<dyn Record>>,
    /// The kept answer, as it is to be sent.
    pub answer: Option<Answer>,
}

impl Committed {
    /// The first saved record of this type.
    pub fn into_saved<T: Record>(self) -> Option<Box<T>> {
        self.saved.into_iter().find_map(|record| (record as Box<dyn Any>).downcast().ok())
    }
}
