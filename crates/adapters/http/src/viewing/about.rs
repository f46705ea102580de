//! The part of a page that is the same for all its visitors.

use quipu_kernel::Timestamp;
use quipu_pages::{Brand, View, Words};
use quipu_payments::Payment;

/// The merchant of a page, and the details it asks for.
pub(crate) struct About {
    pub(crate) brand: Brand,
    /// The path of the public address.
    pub(crate) root: String,
    /// The members that the recipient has to fill in, while they are awaited.
    pub(crate) members: Vec<String>,
}

impl About {
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { brand: Brand::plain("Merchant"), root: String::new(), members: Vec::new() }
    }

    /// The view of a payment at `now`.
    pub(crate) fn view<'a>(&'a self, payment: &'a Payment, words: Words, now: Timestamp) -> View<'a> {
        let (brand, root, members) = (&self.brand, self.root.as_str(), self.members.as_slice());
        View { payment, brand, words, now, root, token: "", members, filled: None }
    }
}
