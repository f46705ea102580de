//! Alerts about payments that nothing has been heard of for too long.

use std::time::Duration;

use quipu_commit::{Queue, WorkInHand};
use quipu_kernel::Currency;
use quipu_merchants::Method;
use serde_json::json;

use super::world::{START, TENANT, World, deposit, ready, standing, with, withdrawal};
use crate::{Alert, Payment, PaymentType, RaiseAlert, Status};

/// The work of looking at a payment.
fn look_at(payment: &Payment) -> WorkInHand {
    WorkInHand {
        queue: Queue::REDIRECTPAY_ALERT,
        tenant: TENANT,
        subject: payment.id().as_str().to_owned(),
        action: String::new(),
        due: START,
        attempts: 1,
        turn: 0,
    }
}

#[test]
fn redirectpay_deposits_are_looked_at_six_hours_later_and_no_others() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    let redirected = world.created(&with(deposit(), &json!({"method": "redirectpay", "currency": "LKR"})));
    let others = [
        world.created(&with(deposit(), &json!({"merchant_reference": "another"}))),
        world.created(&with(withdrawal(), &json!({"merchant_reference": "a third"}))),
    ];
    let due = |payment: &Payment| {
        let queue = world.store.queue();
        let contents = queue.contents();
        let work = contents.work_of(Queue::REDIRECTPAY_ALERT, TENANT, payment.id().as_str());
        work.map(|(_, due)| due)
    };
    assert_eq!(due(&redirected), Some(START.plus(Duration::from_hours(6))));
    assert_eq!(others.each_ref().map(due), [None, None]);
}

#[test]
fn a_payment_raises_an_alert_while_it_is_processing_or_when_it_was_given_up() {
    let world = World::new();
    let raise = RaiseAlert::new(world.store.clone(), world.store.clone(), world.clock.clone());
    let open = world.created(&deposit());
    let alert = ready(raise.attend(&look_at(&open))).expect("looked at");
    assert_eq!(alert, Some(Alert { payment_id: open.id().clone(), at: START }));
    for (status, is_raised) in
        [(Status::Completed, false), (Status::Failed, false), (Status::Cancelled, true)]
    {
        let ended = standing(PaymentType::Deposit, Method::RedirectPay, status, false);
        world.store.add_payment(ended.clone());
        let alert = ready(raise.attend(&look_at(&ended))).expect("looked at");
        assert_eq!(alert.is_some(), is_raised, "{status:?}");
    }
    let nothing = WorkInHand { subject: "no payment".to_owned(), ..look_at(&open) };
    assert_eq!(ready(raise.attend(&nothing)).expect("looked at"), None);
}
