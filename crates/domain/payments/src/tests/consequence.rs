//! What events of rails do to payments, in every combination and every order.

use proptest::prelude::*;
use quipu_kernel::{Amount, Currency, Minor};
use quipu_merchants::{Direction, Method};

use super::world::{Counting, START, amount, standing};
use crate::{
    ManualDecision, NotRefundable, ParkReason, Payment, PaymentType, RailEvent, RailEventKind, Status,
    TransitionContext, Trigger, consequence::Consequence,
};

fn event(kind: RailEventKind, units: i64, currency: Currency) -> RailEvent {
    RailEvent {
        id: "evt-1".to_owned(),
        kind,
        rail_reference: "pay_1763683200000_abcdefghjkmn".to_owned(),
        amount: Some(amount(units)),
        currency: Some(currency),
        occurred_at: None,
        provider_reference: None,
        code: None,
        message: None,
    }
}

fn moved(payment: Payment, trigger: Trigger) -> Option<Payment> {
    let entropy = Counting::default();
    payment.apply(trigger, TransitionContext::new(START, &entropy)).ok().map(|moved| moved.payment)
}

/// Every payment that could stand in a store.
fn every_payment() -> Vec<Payment> {
    let mut all = Vec::new();
    for kind in PaymentType::ALL {
        for status in Status::ALL {
            for has_recipient in [true, false] {
                all.push(standing(kind, Method::Spei, status, has_recipient));
            }
        }
    }
    all
}

/// What an event does, written down once more and independently of the product.
fn expected(payment: &Payment, kind: RailEventKind) -> Consequence {
    use RailEventKind::{Completed, Failed, Returned};
    use Trigger::{ArriveLate, Confirm, Fail, Return, Submit};
    let direction = payment.terms().kind.direction();
    let has_recipient = payment.state().payout.is_some();
    match (direction, kind, payment.status().as_str()) {
        (_, Completed, "processing") => Consequence::Move(&[Confirm]),
        (Direction::Deposit, Completed, "expired" | "cancelled") => Consequence::Move(&[ArriveLate]),
        (_, Failed, "processing") | (Direction::Withdrawal, Failed, "pending") => Consequence::Move(&[Fail]),
        (Direction::Withdrawal, Completed, "pending") if has_recipient => {
            Consequence::Move(&[Submit, Confirm])
        }
        (Direction::Withdrawal, Returned, "processing") => Consequence::Move(&[Confirm, Return]),
        (Direction::Withdrawal, Returned, "completed") => Consequence::Move(&[Return]),
        (Direction::Deposit, Completed, "completed" | "refunded" | "partial_refund")
        | (Direction::Deposit, Failed, "failed" | "expired" | "cancelled")
        | (Direction::Withdrawal, Completed, "completed" | "refunded")
        | (Direction::Withdrawal, Failed, "failed" | "cancelled" | "expired" | "refunded")
        | (Direction::Withdrawal, Returned, "refunded") => Consequence::Known,
        _ => Consequence::Park(ParkReason::Contradiction),
    }
}

#[test]
fn every_event_has_its_effect_on_every_payment() {
    for payment in every_payment() {
        for kind in RailEventKind::ALL {
            assert_eq!(
                Consequence::of(&payment, &event(kind, 1_000, Currency::MXN)),
                expected(&payment, kind),
                "{kind:?} on {:?} in {:?}",
                payment.terms().kind,
                payment.status()
            );
        }
    }
}

#[test]
fn a_consequence_that_moves_is_always_a_move_of_the_table() {
    for payment in every_payment() {
        for kind in RailEventKind::ALL {
            if let Consequence::Move(triggers) = Consequence::of(&payment, &event(kind, 1_000, Currency::MXN))
            {
                let mut at = Some(payment.clone());
                for trigger in triggers {
                    at = at.and_then(|payment| moved(payment, *trigger));
                }
                assert!(at.is_some(), "{:?} {kind:?} {triggers:?}", payment.status());
            }
        }
    }
}

#[test]
fn an_event_that_was_applied_is_known_afterwards() {
    for payment in every_payment() {
        for kind in RailEventKind::ALL {
            let event = event(kind, 1_000, Currency::MXN);
            if let Consequence::Move(triggers) = Consequence::of(&payment, &event) {
                let after = triggers.iter().fold(payment.clone(), |payment, trigger| {
                    moved(payment, *trigger).expect("a move of the table")
                });
                assert_eq!(
                    Consequence::of(&after, &event),
                    Consequence::Known,
                    "{kind:?} on {:?}",
                    payment.status()
                );
            }
        }
    }
}

#[test]
fn word_of_other_money_changes_nothing() {
    for payment in every_payment() {
        for kind in [RailEventKind::Completed, RailEventKind::Returned, RailEventKind::Failed] {
            for event in [event(kind, 999, Currency::MXN), event(kind, 1_000, Currency::AUD)] {
                assert!(
                    matches!(Consequence::of(&payment, &event), Consequence::Park(_)),
                    "{:?}",
                    payment.status()
                );
            }
        }
    }
    let waiting = standing(PaymentType::Deposit, Method::Spei, Status::Processing, false);
    let short = event(RailEventKind::Completed, 999, Currency::MXN);
    assert_eq!(Consequence::of(&waiting, &short), Consequence::Park(ParkReason::AmountMismatch));
    let foreign = event(RailEventKind::Completed, 1_000, Currency::AUD);
    assert_eq!(Consequence::of(&waiting, &foreign), Consequence::Park(ParkReason::CurrencyMismatch));
}

#[test]
fn what_was_booked_with_another_amount_is_told_again_by_that_amount_only() {
    let waiting = standing(PaymentType::Deposit, Method::Spei, Status::Processing, false);
    let entropy = Counting::default();
    let context = TransitionContext::new(START, &entropy);
    let booked = waiting.complete_with(amount(400), Minor::ZERO, &context).expect("a move").payment;
    let told = |units| Consequence::of(&booked, &event(RailEventKind::Completed, units, Currency::MXN));
    assert_eq!(told(400), Consequence::Known);
    for other in [399, 1_000] {
        assert_eq!(told(other), Consequence::Park(ParkReason::Contradiction), "money beside what was booked");
    }
}

#[test]
fn money_for_what_had_failed_waits_for_a_person() {
    let completed = event(RailEventKind::Completed, 1_000, Currency::MXN);
    let failed = event(RailEventKind::Failed, 1_000, Currency::MXN);
    let returned = event(RailEventKind::Returned, 1_000, Currency::MXN);
    for (kind, status, event) in [
        (PaymentType::Deposit, Status::Failed, &completed),
        (PaymentType::Withdrawal, Status::Failed, &completed),
        (PaymentType::Withdrawal, Status::Cancelled, &completed),
        (PaymentType::Withdrawal, Status::Failed, &returned),
        (PaymentType::Withdrawal, Status::Cancelled, &returned),
        (PaymentType::Withdrawal, Status::Completed, &failed),
        (PaymentType::Deposit, Status::Completed, &failed),
    ] {
        let payment = standing(kind, Method::Spei, status, true);
        assert_eq!(
            Consequence::of(&payment, event),
            Consequence::Park(ParkReason::Contradiction),
            "{status:?}"
        );
    }
}

#[test]
fn a_payout_that_comes_back_before_the_word_of_its_payment_ends_where_it_would_in_order() {
    let payment = standing(PaymentType::Withdrawal, Method::Spei, Status::Processing, true);
    let returned = event(RailEventKind::Returned, 1_000, Currency::MXN);
    let consequence = Consequence::of(&payment, &returned);
    assert_eq!(consequence, Consequence::Move(&[Trigger::Confirm, Trigger::Return]));
    let after =
        moved(moved(payment, Trigger::Confirm).expect("confirmed"), Trigger::Return).expect("returned");
    assert_eq!((after.status(), after.state().version), (Status::Refunded, 3));
    let completed = event(RailEventKind::Completed, 1_000, Currency::MXN);
    assert_eq!(Consequence::of(&after, &completed), Consequence::Known);
}

#[test]
fn a_persons_decision_goes_through_the_table_like_everything_else() {
    use ManualDecision::{Complete, Fail, Return, Submit};
    use PaymentType::{Deposit, Withdrawal};

    let after = |kind, status, decision: ManualDecision| {
        let mut payment = standing(kind, Method::Spei, status, true);
        for trigger in decision.triggers(&payment) {
            payment = moved(payment, *trigger)?;
        }
        Some((payment.status(), payment.state().version))
    };
    let table = [
        (Withdrawal, Status::Pending, Submit, Some((Status::Processing, 2))),
        (Withdrawal, Status::Pending, Complete, Some((Status::Completed, 3))),
        (Withdrawal, Status::Processing, Complete, Some((Status::Completed, 2))),
        (Withdrawal, Status::Pending, Fail, Some((Status::Failed, 2))),
        (Withdrawal, Status::Completed, Return, Some((Status::Refunded, 2))),
        (Withdrawal, Status::Completed, Complete, None),
        (Withdrawal, Status::Processing, Submit, None),
        (Withdrawal, Status::Cancelled, Complete, None),
        (Deposit, Status::Processing, Complete, Some((Status::Completed, 2))),
        (Deposit, Status::Expired, Complete, Some((Status::Completed, 2))),
        (Deposit, Status::Cancelled, Complete, Some((Status::Completed, 2))),
        (Deposit, Status::Failed, Complete, None),
        (Deposit, Status::Processing, Submit, None),
        (Deposit, Status::Completed, Return, None),
    ];
    for (kind, status, decision, expected) in table {
        assert_eq!(after(kind, status, decision), expected, "{kind:?} {status:?} {decision:?}");
    }
}

#[test]
fn only_a_completed_deposit_can_be_refunded() {
    for status in Status::ALL {
        let deposit = standing(PaymentType::Deposit, Method::Spei, status, false);
        let refundable = deposit.require_refundable(amount(1)).is_ok();
        assert_eq!(refundable, matches!(status, Status::Completed | Status::PartialRefund), "{status:?}");
        let withdrawal = standing(PaymentType::Withdrawal, Method::Spei, status, true);
        assert_eq!(withdrawal.require_refundable(amount(1)), Err(NotRefundable::Withdrawal));
    }
}

proptest! {
    #[test]
    fn refunds_never_sum_to_more_than_the_payment(parts in prop::collection::vec(1_i64..700, 1..20)) {
        let mut payment = standing(PaymentType::Deposit, Method::Spei, Status::Completed, false);
        let mut sum = 0;
        for part in parts {
            let part = Amount::new(part).expect("in range");
            let fits = sum + part.get() <= 1_000;
            prop_assert_eq!(payment.require_refundable(part).is_ok(), fits);
            let refunded = moved(payment.clone(), Trigger::Refund(part));
            prop_assert_eq!(refunded.is_some(), fits);
            let Some(after) = refunded else { continue };
            sum += part.get();
            prop_assert_eq!(after.state().version, payment.state().version + 1);
            prop_assert_eq!(after.state().refunded_amount.get(), sum);
            prop_assert_eq!(after.status() == Status::Refunded, sum == 1_000);
            payment = after;
        }
        prop_assert_eq!(payment.terms().kind.direction(), Direction::Deposit);
    }

    /// Whatever the order and however often, the same events lead to the same last status, as long as none contradicts.
    #[test]
    fn events_in_any_order_end_alike(order in prop::collection::vec(0_usize..2, 2..8)) {
        let kinds = [RailEventKind::Completed, RailEventKind::Returned];
        prop_assume!(order.contains(&0) && order.contains(&1));
        let mut payment = standing(PaymentType::Withdrawal, Method::Spei, Status::Processing, true);
        for index in order {
            let event = event(kinds[index], 1_000, Currency::MXN);
            match Consequence::of(&payment, &event) {
                Consequence::Move(triggers) => {
                    for trigger in triggers {
                        payment = moved(payment, *trigger).expect("a move");
                    }
                }
                Consequence::Known => {}
                Consequence::Park(reason) => panic!("{reason:?}"),
            }
        }
        prop_assert_eq!((payment.status(), payment.state().version), (Status::Refunded, 3));
    }
}
