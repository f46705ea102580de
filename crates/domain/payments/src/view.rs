//! A payment as merchants read it.

use serde::{Serialize, Serializer};

use crate::Payment;

/// A payment in the shape in which create, get and list answer it (specification, "Payment create response", and the
/// record's further fields).
#[derive(Debug, Clone, Copy)]
pub struct PaymentRecord<'a>(&'a Payment);

impl<'a> PaymentRecord<'a> {
    /// The record of this payment.
    pub const fn of(payment: &'a Payment) -> Self {
        Self(payment)
    }
}

impl Serialize for PaymentRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        unimplemented!()
    }
}
