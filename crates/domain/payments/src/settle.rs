//! What a worker does with a payment whose time has come.

use std::sync::Arc;

use quipu_kernel::{Clock, Entropy};
use quipu_merchants::StoreUnavailable;

use crate::{Commit, Payment, PaymentReads, Rails};

/// Takes payments on towards their last status.
pub struct SettlePayment {}

impl SettlePayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        rails: Arc<Rails>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        unimplemented!()
    }

    /// Does what is due for a claimed payment. Repeating what has happened is a success that changes nothing.
    pub async fn attend(&self, payment: Payment) -> Result<(), StoreUnavailable> {
        unimplemented!()
    }
}
