//! Names that are unique within a tenant, and who holds them.

use crate::record::Record;

/// A kind of unique name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub &'static str);

impl Index {
    /// A merchant's references, each held by a payment.
    pub const REFERENCE: Self = Self("payment.reference");
    /// Events of rails, each by its rail and the rail's identifier.
    pub const RAIL_EVENT: Self = Self("rail.event");
    /// Withdrawals, each held by the file in which a bank gets it.
    pub const BANK_EXPORT: Self = Self("bank.export");
    /// Customers, under whatever name they are found.
    pub const CUSTOMER: Self = Self("customer");
    /// E-mail addresses, case-folded, each held by a customer.
    pub const CUSTOMER_EMAIL: Self = Self("customer.email");
    /// Telephone numbers, digits only; the eldest customer of a number holds it.
    pub const CUSTOMER_PHONE: Self = Self("customer.phone");
    /// Payments, each held by the one ticket that is about it.
    pub const TICKET_PAYMENT: Self = Self("ticket.payment");
}

/// One name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Of which kind.
    pub index: Index,
    /// The name itself.
    pub value: String,
}

impl Name {
    /// A name of this kind.
    pub fn new(index: Index, value: impl Into<String>) -> Self {
        Self { index, value: value.into() }
    }
}

/// Who holds a name: a number or an identifier, by what the holder's table has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// A number.
    Number(i64),
    /// An identifier.
    Text(String),
}

/// What becomes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// The holder takes it. Refused with `NameTaken` if another holds it.
    Take(Name, Holder),
    /// The holder gives it up; nothing happens if another holds it.
    Release(Name, Holder),
}

/// A thing that is found by a name or else made: a customer by an e-mail address, an endpoint by its URL.
///
/// Every record of the same change is told who it was ([`Record::settle`]).
#[derive(Debug)]
pub struct Join {
    /// The name it is looked for by; none where nothing can find it.
    pub by: Option<Name>,
    /// The index under which the records are told.
    pub index: Index,
    /// What it is called if it has to be made.
    pub fresh: Holder,
    /// Further names that a new one takes, unless somebody holds them.
    pub also: Vec<Name>,
    /// The row of a new one.
    pub make: Box<dyn Record>,
}

impl Join {
    /// Takes another number, since another node may have taken the first. Identifiers do not collide.
    pub const fn renumber(&mut self) {
        if let Holder::Number(number) = &mut self.fresh {
            *number += 1;
        }
    }
}
