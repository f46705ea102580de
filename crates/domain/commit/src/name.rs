//! Names that are unique within a tenant, and their holders.

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
    /// Customers, by any name by which a customer is found.
    pub const CUSTOMER: Self = Self("customer");
    /// E-mail addresses, case-folded, each held by a customer.
    pub const CUSTOMER_EMAIL: Self = Self("customer.email");
    /// Telephone numbers, digits only; the oldest customer of a number holds it.
    pub const CUSTOMER_PHONE: Self = Self("customer.phone");
    /// Payments, each held by the one ticket that is about it.
    pub const TICKET_PAYMENT: Self = Self("ticket.payment");
}

/// A unique name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The kind of name.
    pub index: Index,
    /// The text of the name, unique within its kind.
    pub value: String,
}

impl Name {
    /// A name of this kind.
    pub fn new(index: Index, value: impl Into<String>) -> Self {
        Self { index, value: value.into() }
    }
}

/// The holder of a name: a number or an identifier, as the holder's table has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// The holder's number.
    Number(i64),
    /// The holder's identifier.
    Text(String),
}

/// A change of the holder of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// The holder takes it. Refused with `NameTaken` if another holds it.
    Take(Name, Holder),
    /// The holder gives it up; nothing happens if another holds it.
    Release(Name, Holder),
}
