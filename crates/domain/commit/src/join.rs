//! Things that are found or else made.

use crate::{
    name::{Holder, Index, Name},
    record::Record,
};

/// A thing that is found by a name or else made: a customer by an e-mail address.
///
/// Every record of the same change is told the identifier of the thing ([`Record::resolve_join`]).
#[derive(Debug)]
pub struct Join {
    /// The name by which it is looked for; `None` if a new one is always made.
    pub by: Option<Name>,
    /// The index with which the records are told its identifier.
    pub index: Index,
    /// The number or identifier that it gets if it has to be made.
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
