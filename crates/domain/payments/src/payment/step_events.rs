//! The events of each step of a payment.

use quipu_merchants::Direction;
use quipu_webhooks::EventName;

use crate::payment::{Payment, status::Status};

/// The events of the step that a payment has just taken, including its creation.
pub(crate) fn of(payment: &Payment) -> &'static [EventName] {
    of_step(payment.state().version, payment.status(), payment.terms().kind.direction())
}

/// The events of the step to this version and status.
pub(crate) const fn of_step(version: i32, status: Status, direction: Direction) -> &'static [EventName] {
    use EventName::{
        PaymentCancelled, PaymentCompleted, PaymentCreated, PaymentFailed, PaymentProcessing,
        PaymentRefunded, PayoutCompleted, PayoutCreated, PayoutFailed,
    };
    match (version, status, direction) {
        (1, _, Direction::Deposit) => &[PaymentCreated],
        (1, _, Direction::Withdrawal) => &[PaymentCreated, PayoutCreated],
        // No payment returns to `pending`; a table that let it would have to name the event.
        (_, Status::Pending, _) => &[],
        (_, Status::Processing, _) => &[PaymentProcessing],
        (_, Status::Completed, Direction::Deposit) => &[PaymentCompleted],
        (_, Status::Completed, Direction::Withdrawal) => &[PaymentCompleted, PayoutCompleted],
        (_, Status::Failed | Status::Expired, Direction::Deposit) => &[PaymentFailed],
        (_, Status::Failed | Status::Expired, Direction::Withdrawal) => &[PaymentFailed, PayoutFailed],
        (_, Status::Cancelled, Direction::Deposit) => &[PaymentCancelled],
        (_, Status::Cancelled, Direction::Withdrawal) => &[PaymentCancelled, PayoutFailed],
        (_, Status::Refunded | Status::PartialRefund, Direction::Deposit) => &[PaymentRefunded],
        (_, Status::Refunded | Status::PartialRefund, Direction::Withdrawal) => {
            &[PaymentRefunded, PayoutFailed]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quipu_kernel::{Environment, EventId, MerchantId, Tenant, Timestamp};
    use quipu_webhooks::sample_payload;
    use serde_json::Value;

    use super::*;
    use crate::details::kind::PaymentType;

    /// The names of all events of payments and payouts.
    fn of_payments() -> impl Iterator<Item = EventName> {
        let prefixes = ["payment.", "payout."];
        let is_one = move |name: &EventName| prefixes.iter().any(|prefix| name.as_str().starts_with(prefix));
        EventName::ALL.into_iter().filter(is_one)
    }

    #[test]
    fn each_step_is_told_once_as_one_of_a_payment_and_no_such_name_is_of_anything_else() {
        let mut told = BTreeSet::new();
        for version in [1, 2] {
            for status in Status::ALL {
                for direction in Direction::ALL {
                    let names = of_step(version, status, direction);
                    let of_payment = names.iter().filter(|name| name.as_str().starts_with("payment."));
                    let is_step = version == 1 || status != Status::Pending;
                    assert_eq!(of_payment.count(), usize::from(is_step), "{version} {status:?}");
                    told.extend(names);
                }
            }
        }
        assert_eq!(told, of_payments().collect());
    }

    #[test]
    fn a_sample_is_of_a_step_that_has_its_event() {
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        for name in of_payments() {
            let id = EventId::restore("evt_1".to_owned());
            let text = sample_payload(name, &id, Timestamp::from_millis(0), tenant);
            let sample: Value = serde_json::from_str(&text).expect("JSON");
            let shown = &sample["data"]["payment"];
            let text = |member: &str| shown[member].as_str().expect("a text");
            let kind: PaymentType = text("type").parse().expect("a type");
            let status: Status = text("status").parse().expect("a status");
            let version = if shown["status_version"] == 1 { 1 } else { 2 };
            assert!(of_step(version, status, kind.direction()).contains(&name), "{name:?}: {shown}");
        }
    }
}
