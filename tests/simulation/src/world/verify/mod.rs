//! Holds the promises of the gateway against what is true, when a world is at rest.

mod answers;
mod books;
mod letters;
mod truth;

use std::collections::BTreeMap;

use quipu_commit::Aggregate;
use quipu_kernel::PaymentId;
use quipu_payments::Payment;

use super::node::Surroundings;

/// What the routes of a world charge: a share in hundredths of a percent, and a fixed part.
pub(super) const FEE_BPS: u16 = 150;
pub(super) const FEE_FIXED: i64 = 3;

/// What is broken.
type Broken = Vec<String>;

/// The payments of a world.
pub(super) type Payments = BTreeMap<PaymentId, Payment>;

/// Whether every promise was kept; else all that was broken.
pub(super) fn verify(around: &Surroundings) -> Result<(), Broken> {
    let mut broken = around.book.open().complaints.clone();
    let payments: Payments = {
        let contents = around.store.shared.memory.contents();
        let all = contents.all::<Payment>(Aggregate::PAYMENT);
        all.map(|(_, payment)| (payment.id().clone(), payment.clone())).collect()
    };
    books::verify(around, &payments, &mut broken);
    truth::verify(around, &payments, &mut broken);
    answers::verify(around, &payments, &mut broken);
    letters::verify(around, &mut broken);
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}
