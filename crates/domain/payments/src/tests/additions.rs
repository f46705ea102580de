//! What becomes known of a payment after it was made.

use std::time::Duration;

use quipu_merchants::Method;

use super::world::{START, standing};
use crate::{Instructions, PaymentType, Payout, Status};

#[test]
fn nothing_is_added_before_what_happened_already() {
    let hour = Duration::from_hours(1);
    for (at, updated_at) in [(START.minus(hour), START), (START.plus(hour), START.plus(hour))] {
        let payment = || standing(PaymentType::WithdrawalPp, Method::Spei, Status::Pending, false);
        let named = payment().with_recipient(Payout::default(), at);
        let instructed = payment().with_instructions(Instructions::default(), at, None).payment;
        for changed in [named, instructed] {
            assert_eq!(changed.state().updated_at, updated_at);
        }
    }
}
