//! What a payment's events say, against what the payment says.

use quipu_kernel::Timestamp;
use quipu_merchants::Method;
use quipu_webhooks::Event;
use serde_json::{Value, json};

use super::world::{Counting, START, amount, minor, standing};
use crate::{
    Payment, PaymentType, Status, StoredEvent, TransitionContext, Trigger, contradictions, payment::payload,
};

fn kept(event: &Event) -> StoredEvent {
    StoredEvent {
        id: event.id.as_str().to_owned(),
        name: event.name.as_str().to_owned(),
        at: event.at,
        version: event.status.expect("of a payment").version,
        payload: event.payload.clone(),
    }
}

/// A payment at the end of a path, and all of its events.
fn walked(kind: PaymentType, from: Status, path: &[Trigger]) -> (Payment, Vec<StoredEvent>) {
    let entropy = Counting::default();
    let mut payment = standing(kind, Method::BankTransfer, from, true);
    let created = payload::events(&payment, None, &entropy);
    let mut told: Vec<_> = created.iter().map(kept).collect();
    for (step, trigger) in path.iter().enumerate() {
        let at = Timestamp::from_millis(START.millis() + 1_000 * i64::try_from(step + 1).expect("a few"));
        let how = TransitionContext::new(at, &entropy);
        let moved = if *trigger == Trigger::Confirm && kind == PaymentType::Deposit {
            payment.complete_with(amount(7), minor(2), &how)
        } else {
            payment.apply(*trigger, how)
        };
        let moved = moved.expect("a move");
        told.extend(moved.changes.rows_of().map(kept));
        payment = moved.payment;
    }
    (payment, told)
}

fn refunded_deposit() -> (Payment, Vec<StoredEvent>) {
    let refund = Trigger::Refund(amount(1));
    walked(PaymentType::Deposit, Status::Processing, &[Trigger::Confirm, refund, refund])
}

fn returned_withdrawal() -> (Payment, Vec<StoredEvent>) {
    walked(PaymentType::Withdrawal, Status::Pending, &[Trigger::Submit, Trigger::Confirm, Trigger::Return])
}

#[test]
fn events_of_every_step_agree_with_their_payment() {
    for (payment, told) in [
        refunded_deposit(),
        returned_withdrawal(),
        walked(PaymentType::Deposit, Status::Processing, &[Trigger::Expire, Trigger::ArriveLate]),
        walked(PaymentType::DepositPp, Status::Processing, &[Trigger::Fail]),
        walked(PaymentType::WithdrawalPp, Status::Pending, &[Trigger::Cancel]),
        walked(PaymentType::Withdrawal, Status::Pending, &[]),
    ] {
        assert_eq!(contradictions(&payment, &told), [""; 0]);
    }
}

#[test]
fn events_tell_that_another_amount_came_or_that_it_came_late() {
    let late = walked(PaymentType::Deposit, Status::Processing, &[Trigger::Expire, Trigger::ArriveLate]);
    for ((payment, told), members) in [
        (refunded_deposit(), [json!(7), json!(null)]),
        (late, [json!(null), json!(true)]),
        (returned_withdrawal(), [json!(null), json!(null)]),
    ] {
        let last: Value = serde_json::from_str(&told.last().expect("events").payload).expect("JSON");
        let shown = &last["data"]["payment"];
        assert_eq!([&shown["received_amount"], &shown["late"]], members.each_ref(), "{shown}");
        let first: Value = serde_json::from_str(&told[0].payload).expect("JSON");
        assert!(first["data"]["payment"].get("late").is_none(), "nothing had come");
        let mut of_an_earlier_release = told.clone();
        for event in &mut of_an_earlier_release {
            event.payload = event.payload.replace("\"received_amount\":7,", "").replace("\"late\":true,", "");
        }
        assert_eq!(contradictions(&payment, &of_an_earlier_release), [""; 0]);
        let mut tampered = told;
        for event in &mut tampered {
            let payload = event.payload.replace("\"received_amount\":7", "\"received_amount\":8");
            event.payload = payload.replace("\"late\":true", "\"late\":false");
        }
        let is_told = members != [Value::Null, Value::Null];
        assert_eq!(contradictions(&payment, &tampered).is_empty(), !is_told);
    }
}

#[test]
fn changed_terms_amounts_and_customer_data_are_told() {
    let changes: &[(&str, &str)] = &[
        ("\"fee\":", "\"fee\":1"),
        ("\"net_amount\":", "\"net_amount\":1"),
        ("\"refunded_amount\":", "\"refunded_amount\":1"),
        ("\"merchant_reference\":\"", "\"merchant_reference\":\"x"),
        ("\"total_minor\":", "\"total_minor\":1"),
        ("\"customer_data\":{", "\"customer_data\":{\"note\":\"x\","),
        ("\"payment\":{", "\"payment\":{\"more\":1,"),
        ("\"reference\":\"", "\"reference\":\"x"),
        ("\"created_at\":\"2", "\"created_at\":\"3"),
        ("{", ""),
    ];
    for (payment, told) in [refunded_deposit(), returned_withdrawal()] {
        for (before, after) in changes {
            let mut tampered = told.clone();
            let last = tampered.last_mut().expect("events");
            assert!(last.payload.contains(before), "{before} in {}", last.payload);
            last.payload = last.payload.replace(before, after);
            assert_ne!(contradictions(&payment, &tampered), [""; 0], "{before}");
        }
    }
}

#[test]
fn a_refund_before_any_was_made_is_told() {
    for (payment, mut told) in [refunded_deposit(), returned_withdrawal()] {
        told[0].payload = told[0].payload.replace("\"refunded_amount\":0", "\"refunded_amount\":1");
        assert_eq!(contradictions(&payment, &told).len(), 1);
    }
}

#[test]
fn an_event_that_is_missing_or_twice_or_of_another_time_is_told() {
    let (payment, told) = returned_withdrawal();
    for at in 0..told.len() {
        let mut fewer = told.clone();
        let gone = fewer.remove(at);
        // A whole step that is gone is a gap in the versions, which is looked for elsewhere.
        if fewer.iter().any(|event| event.version == gone.version) {
            assert_ne!(contradictions(&payment, &fewer), [""; 0], "without {}", gone.name);
        }
        let mut more = told.clone();
        more.insert(at, gone);
        assert_ne!(contradictions(&payment, &more), [""; 0], "twice {}", told[at].name);
        let mut later = told.clone();
        later[at].at = Timestamp::from_millis(later[at].at.millis() + 5);
        assert_ne!(contradictions(&payment, &later), [""; 0], "later {}", told[at].name);
    }
}
