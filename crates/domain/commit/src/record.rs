//! The rows that a commit writes: values of the domain, each described to the store once.

use std::{any::Any, fmt::Debug};

use crate::{
    answer::Answer,
    name::{Holder, Index},
};

/// A value that a commit writes as a row. The store knows the table by the type.
pub trait Record: Any + Debug + Duplicate + Send + Sync {
    /// Receives the number or identifier under which a [`crate::Join`] of the same change was found or made,
    /// before the record is written.
    fn resolve_join(&mut self, _index: Index, _holder: &Holder) {}

    /// The answer to the request that made this record, if its key is kept with it. It is called after
    /// [`Record::resolve_join`]; it must be quick and do no I/O.
    fn answer(&self) -> Option<Answer> {
        None
    }
}

/// A copy of a record behind its trait: every record that is `Clone` has it.
pub trait Duplicate {
    /// A copy of this record.
    fn duplicate(&self) -> Box<dyn Record>;
}

impl<T: Record + Clone> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Record> {
        Box::new(self.clone())
    }
}

/// A kind of aggregate, which is read, changed and written again. Its name is the name of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aggregate(pub &'static str);

impl Aggregate {
    /// Payments.
    pub const PAYMENT: Self = Self("payments");
    /// Receipts: messages of rails that are parked until a person decides about them.
    pub const RECEIPT: Self = Self("receipts");
    /// Tickets.
    pub const TICKET: Self = Self("tickets");
    /// Files that merchants announce for their tickets.
    pub const UPLOAD: Self = Self("ticket_uploads");
    /// Webhook endpoints. They occur in [`News`](crate::News) only: no [`Save`] or [`Expect`] is about one.
    pub const ENDPOINT: Self = Self("webhook_endpoints");
    /// All kinds.
    pub const ALL: &'static [Self] =
        &[Self::PAYMENT, Self::RECEIPT, Self::TICKET, Self::UPLOAD, Self::ENDPOINT];

    /// The kind with this table.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|aggregate| aggregate.0 == name)
    }
}

/// An aggregate as it is to be written.
///
/// It is refused as stale unless its revision is still `from`, so that no decision overwrites another that it
/// did not see.
#[derive(Debug)]
pub struct Save {
    /// The kind of aggregate.
    pub aggregate: Aggregate,
    /// Its identifier within the tenant.
    pub id: String,
    /// The revision that was read; `None` for a new aggregate.
    pub from: Option<i64>,
    /// The revision after the write, which is greater.
    pub to: i64,
    /// The aggregate itself, as its row.
    pub record: Box<dyn Record>,
}

/// An aggregate that a decision depends on without changing it. The change is refused as stale unless the
/// aggregate has this revision, or does not exist if the revision is [`Expect::ABSENT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// The kind of aggregate.
    pub aggregate: Aggregate,
    /// Its identifier within the tenant.
    pub id: String,
    /// The revision that it must have.
    pub revision: i64,
}

impl Expect {
    /// The revision of an aggregate that must not exist.
    pub const ABSENT: i64 = 0;
}

impl Record for quipu_webhooks::Event {}

impl Record for quipu_merchants::AuditRecord {}
