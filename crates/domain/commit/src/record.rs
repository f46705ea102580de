//! What a commit writes: values of the domain, each described to the store once.

use std::{any::Any, fmt::Debug};

use crate::{
    answer::Answer,
    name::{Holder, Index},
};

/// A value that a commit writes as a row. The store knows the table by the type.
pub trait Record: Any + Debug + Duplicate + Send + Sync {
    /// Told under which number or identifier a [`crate::Join`] of the same change was settled, before it is written.
    fn settle(&mut self, _index: Index, _holder: &Holder) {}

    /// The answer to the request that made it, where an answer is kept with it. It is asked for once the record is
    /// settled; it must be quick and do no I/O.
    fn answer(&self) -> Option<Answer> {
        None
    }
}

/// A copy of a record behind its trait: every record that is `Clone` has it.
pub trait Duplicate {
    /// The copy.
    fn duplicate(&self) -> Box<dyn Record>;
}

impl<T: Record + Clone> Duplicate for T {
    fn duplicate(&self) -> Box<dyn Record> {
        Box::new(self.clone())
    }
}

/// A kind of thing that is read, changed and written again: its name is the name of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aggregate(pub &'static str);

impl Aggregate {
    /// Payments.
    pub const PAYMENT: Self = Self("payments");
    /// What was parked for a person.
    pub const RECEIPT: Self = Self("receipts");
    /// Tickets.
    pub const TICKET: Self = Self("tickets");
    /// Files that merchants announce for their tickets.
    pub const UPLOAD: Self = Self("ticket_uploads");
    /// Where webhooks go.
    pub const ENDPOINT: Self = Self("webhook_endpoints");
    /// Every kind.
    pub const ALL: &'static [Self] =
        &[Self::PAYMENT, Self::RECEIPT, Self::TICKET, Self::UPLOAD, Self::ENDPOINT];

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|aggregate| aggregate.0 == name)
    }
}

/// An aggregate as it is to stand afterwards.
///
/// It is refused as stale unless it still stands at `from`, so that no decision overwrites another that it did not see.
#[derive(Debug)]
pub struct Save {
    /// What kind of thing.
    pub aggregate: Aggregate,
    /// Its identifier within the tenant.
    pub id: String,
    /// The revision it had; none for a new one.
    pub from: Option<i64>,
    /// The revision it has afterwards, which is greater.
    pub to: i64,
    /// The thing.
    pub record: Box<dyn Record>,
}

/// An aggregate that a decision depends on without changing it: refused as stale unless it stands at this revision, or is not
/// there if the revision is [`Expect::ABSENT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// What kind of thing.
    pub aggregate: Aggregate,
    /// Its identifier within the tenant.
    pub id: String,
    /// The revision.
    pub revision: i64,
}

impl Expect {
    /// The revision of what must not be there.
    pub const ABSENT: i64 = 0;
}

impl Record for quipu_webhooks::Event {}

impl Record for quipu_merchants::AuditRecord {}
