//! The transition table against a second, independently written list, and money along any path through it.

use proptest::prelude::*;
use quipu_commit::{Changes, WorkChange};
use quipu_kernel::{Currency, Minor};
use quipu_ledger::{Balance, Transaction};
use quipu_merchants::{Direction, Method};
use quipu_webhooks::{Event, EventName};

use super::world::{Counting, START, amount, minor, standing};
use crate::{
    Due, DueAction, Failure, NotMoved, Payment, PaymentType, Situation, Status, TransitionContext, Trigger,
    payment::changes::{Changed, postponed},
};

/// The complete table, a line a row: whose move, from, trigger, to.
const TABLE: &str = "
    deposit            processing      Confirm     completed
    deposit            processing      Fail        failed
    other_deposit      processing      Expire      expired
    redirectpay        processing      GiveUp      cancelled
    deposit            expired         ArriveLate  completed
    deposit            cancelled       ArriveLate  completed
    deposit            completed       RefundPart  partial_refund
    deposit            partial_refund  RefundPart  partial_refund
    deposit            completed       RefundRest  refunded
    deposit            partial_refund  RefundRest  refunded
    withdrawal         pending         Cancel      cancelled
    filled_withdrawal  pending         Submit      processing
    withdrawal         pending         Fail        failed
    withdrawal         processing      Fail        failed
    unfilled_page      pending         Expire      expired
    withdrawal         processing      Confirm     completed
    withdrawal         completed       Return      refunded
";

fn is_meant(whose: &str, about: Situation) -> bool {
    let withdrawal = matches!(about.kind, PaymentType::Withdrawal | PaymentType::WithdrawalPp);
    match whose {
        "deposit" => !withdrawal,
        "other_deposit" => !withdrawal && about.method != Method::RedirectPay,
        "redirectpay" => !withdrawal && about.method == Method::RedirectPay,
        "withdrawal" => withdrawal,
        "filled_withdrawal" => withdrawal && about.has_recipient,
        "unfilled_page" => about.kind == PaymentType::WithdrawalPp && !about.has_recipient,
        _ => panic!("{whose} is in no row"),
    }
}

fn expected(about: Situation, status: Status, trigger: Trigger) -> Option<Status> {
    let name = match trigger {
        Trigger::Refund(amount) if amount.minor() < about.refundable => "RefundPart".to_owned(),
        Trigger::Refund(amount) if amount.minor() == about.refundable => "RefundRest".to_owned(),
        trigger => format!("{trigger:?}"),
    };
    let mut found = TABLE.lines().filter_map(|line| {
        let cells: Vec<_> = line.split_whitespace().collect();
        let [whose, from, by, to] = cells[..] else { return None };
        let here = is_meant(whose, about) && from == status.as_str() && by == name;
        here.then(|| to.parse().expect("a status"))
    });
    let first = found.next();
    assert_eq!(found.next(), None, "two rows for {about:?} {status:?} {trigger:?}");
    first
}

/// Every trigger, with refunds of a part, of all and of more than all of `refundable`, which is 2 or more.
fn every_trigger(refundable: Minor) -> impl Iterator<Item = Trigger> {
    let all = refundable.get();
    Trigger::ALL.into_iter().chain([all - 1, all, all + 1].map(|units| Trigger::Refund(amount(units))))
}

fn every_situation() -> impl Iterator<Item = (PaymentType, Method, bool, Status)> {
    let kinds = PaymentType::ALL.into_iter();
    kinds.flat_map(|kind| {
        Method::ALL.into_iter().flat_map(move |method| {
            [false, true].into_iter().flat_map(move |has_recipient| {
                Status::ALL.into_iter().map(move |status| (kind, method, has_recipient, status))
            })
        })
    })
}

#[test]
fn the_table_is_complete_and_holds_nothing_else() {
    let mut moves = 0;
    for (kind, method, has_recipient, status) in every_situation() {
        let refundable = minor(1_000);
        for trigger in every_trigger(refundable) {
            let about = Situation { kind, method, has_recipient, refundable };
            let next = status.after(about, trigger);
            assert_eq!(next, expected(about, status, trigger), "{about:?} {status:?} {trigger:?}");
            moves += usize::from(next.is_some());
        }
    }
    assert!(moves > 300, "{moves} moves over all situations");
}

fn context(entropy: &Counting) -> TransitionContext<'_> {
    TransitionContext::new(START, entropy)
}

/// The payment after a move, which is the one that is saved.
fn moved(change: &Changed) -> &Payment {
    assert!(change.changes.saves.iter().all(|save| save.from.is_some()), "no move");
    assert_eq!(change.changes.saved(), Some(&change.payment));
    &change.payment
}

fn events_of(changes: &Changes) -> impl Iterator<Item = &Event> {
    changes.rows_of()
}

/// What is to be done next, if the change puts anything.
fn put_by(changes: &Changes) -> Option<Due> {
    changes.work.iter().find_map(|change| match change {
        WorkChange::Put(put) | WorkChange::Take(put) => {
            Some(Due { at: put.due, action: put.action.parse().ok()? })
        }
        _ => None,
    })
}

#[test]
fn every_move_takes_the_version_one_on_and_tells_of_it() {
    let entropy = Counting::default();
    for (kind, method, has_recipient, status) in every_situation() {
        let payment = standing(kind, method, status, has_recipient);
        for trigger in every_trigger(payment.refundable()) {
            let outcome = payment.clone().apply(trigger, context(&entropy));
            let Some(to) = expected(payment.situation(), status, trigger) else {
                let nowhere_to_go = trigger == Trigger::Submit && payment.waits_for_recipient();
                let told = if nowhere_to_go {
                    NotMoved::NoRecipient
                } else {
                    NotMoved::NoSuchMove { status, trigger }
                };
                assert_eq!(outcome.expect_err("no such move"), told);
                continue;
            };
            let change = outcome.expect("a move of the table");
            let (after, changes) = (moved(&change), &change.changes);
            assert_eq!((after.status(), after.state().version), (to, 2));
            assert_eq!(put_by(changes), None);
            let told = events_of(changes).map(|event| event.name.as_str()).collect::<Vec<_>>();
            assert_eq!(told, expected_events(kind.direction(), to), "{kind:?} to {to:?}");
            for event in events_of(changes) {
                let step = event.status.expect("a step");
                assert_eq!(
                    (step.previous, step.status, step.version),
                    (Some(status.as_str()), to.as_str(), 2)
                );
            }
        }
    }
}

fn expected_events(direction: Direction, to: Status) -> Vec<&'static str> {
    let (payment, payout) = match to {
        Status::Processing => ("payment.processing", None),
        Status::Completed => ("payment.completed", Some("payout.completed")),
        Status::Failed | Status::Expired => ("payment.failed", Some("payout.failed")),
        Status::Cancelled => ("payment.cancelled", Some("payout.failed")),
        Status::Refunded | Status::PartialRefund => ("payment.refunded", Some("payout.failed")),
        Status::Pending => panic!("nothing becomes pending"),
    };
    let payout = payout.filter(|_| direction == Direction::Withdrawal);
    std::iter::once(payment).chain(payout).collect()
}

fn state_after(payment: Payment, trigger: Trigger, failure: Option<Failure>) -> crate::State {
    let entropy = Counting::default();
    let mut how = context(&entropy);
    how.failure = failure;
    moved(&payment.apply(trigger, how).expect("a move")).state().clone()
}

#[test]
fn a_bad_end_says_why() {
    let given = Failure { code: "BANK_CLOSED".to_owned(), message: "the account is closed".to_owned() };
    let deposit = |status| standing(PaymentType::Deposit, Method::Spei, status, false);
    let withdrawal = |status| standing(PaymentType::Withdrawal, Method::Spei, status, true);
    let code = |state: crate::State| state.failure.map(|failure| failure.code);

    let failed = state_after(deposit(Status::Processing), Trigger::Fail, Some(given.clone()));
    assert_eq!(failed.failure.as_ref(), Some(&given));
    assert_eq!(
        code(state_after(deposit(Status::Processing), Trigger::Fail, None)).as_deref(),
        Some("FAILED")
    );
    let expired = state_after(deposit(Status::Processing), Trigger::Expire, None);
    assert_eq!(code(expired).as_deref(), Some("EXPIRED"));
    let returned = state_after(withdrawal(Status::Completed), Trigger::Return, Some(given.clone()));
    let failure = returned.failure.expect("a failure");
    assert_eq!((failure.code.as_str(), failure.message), ("PAYOUT_RETURNED", given.message));
    assert_eq!(returned.refunded_amount, minor(1_000));
}

#[test]
fn money_that_arrives_late_completes_and_is_marked() {
    let entropy = Counting::default();
    let deposit = standing(PaymentType::Deposit, Method::Spei, Status::Processing, false);
    let expired = moved(&deposit.apply(Trigger::Expire, context(&entropy)).expect("a move")).clone();
    assert!(!expired.holds_reference() && !expired.state().late);
    let change = expired.apply(Trigger::ArriveLate, context(&entropy)).expect("a move");
    let late = moved(&change);
    assert!(late.state().late && late.state().failure.is_none() && !late.holds_reference());
    assert_eq!(late.state().completed_at, Some(START));
    assert_eq!(events_of(&change.changes).next().map(|event| event.name), Some(EventName::PaymentCompleted));
    let in_time = state_after(
        standing(PaymentType::Deposit, Method::Spei, Status::Processing, false),
        Trigger::Confirm,
        None,
    );
    assert!(!in_time.late);
}

#[test]
fn nothing_happens_before_what_happened_already_whatever_a_clock_says() {
    let entropy = Counting::default();
    let withdrawal = standing(PaymentType::Withdrawal, Method::Spei, Status::Pending, true);
    let at = START.plus(std::time::Duration::from_secs(3));
    let sent =
        withdrawal.apply(Trigger::Submit, TransitionContext::new(at, &entropy)).expect("a move").payment;
    let change = sent.apply(Trigger::Confirm, context(&entropy)).expect("a move");
    let state = moved(&change).state();
    assert_eq!((state.updated_at, state.completed_at, change.changes.at), (at, Some(at), at));
    assert!(events_of(&change.changes).all(|event| event.at == at));
}

#[test]
fn what_is_due_afterwards_is_what_the_move_says() {
    let entropy = Counting::default();
    let due = Due { at: START, action: DueAction::Ask };
    let mut how = context(&entropy);
    how.due = Some(due);
    let withdrawal = standing(PaymentType::Withdrawal, Method::Spei, Status::Pending, true);
    let change = withdrawal.apply(Trigger::Submit, how).expect("a move");
    assert_eq!(put_by(&change.changes), Some(due));
    let later = postponed(moved(&change), START, None);
    assert!(later.saves.is_empty() && later.rows.is_empty() && later.transactions.is_empty());
    assert_eq!(put_by(&later), None);
}

fn any_payment() -> impl Strategy<Value = Payment> {
    let kinds = prop::sample::select(PaymentType::ALL.to_vec());
    let methods = prop::sample::select(vec![Method::Spei, Method::RedirectPay]);
    (kinds, methods, any::<bool>())
        .prop_map(|(kind, method, has_recipient)| standing(kind, method, Status::first(kind), has_recipient))
}

fn any_trigger() -> impl Strategy<Value = Trigger> {
    let refund = (1_i64..1_200).prop_map(|units| Trigger::Refund(amount(units)));
    prop_oneof![4 => prop::sample::select(Trigger::ALL.to_vec()), 1 => refund]
}

/// What an open withdrawal holds: its amount and fee.
fn frozen_by(payment: &Payment) -> i64 {
    let open = matches!(payment.status(), Status::Pending | Status::Processing);
    let withdrawal = payment.terms().kind.direction() == Direction::Withdrawal;
    if open && withdrawal { payment.terms().amount.get() + payment.state().fee.get() } else { 0 }
}

proptest! {
    #[test]
    fn along_any_path_the_books_balance_and_no_version_is_missing(
        payment in any_payment(),
        triggers in prop::collection::vec(any_trigger(), 0..40),
    ) {
        const MXN: Currency = Currency::MXN;
        let entropy = Counting::default();
        let funded = Balance::zero(MXN).after(&Transaction::adjustment(MXN, minor(5_000))).expect("funded");
        let mut balance = funded;
        if payment.terms().kind.direction() == Direction::Withdrawal {
            let held = Transaction::withdrawal_created(MXN, payment.terms().amount, payment.state().fee);
            balance = balance.after(&held.expect("in range")).expect("covered");
        }
        let mut payment = payment;
        for trigger in triggers {
            let Ok(change) = payment.clone().apply(trigger, context(&entropy)) else { continue };
            for transaction in &change.changes.transactions {
                balance = balance.after(transaction).expect("the table never overdraws");
            }
            let after = moved(&change).clone();
            prop_assert_eq!(after.state().version, payment.state().version + 1);
            prop_assert!(events_of(&change.changes).next().is_some());
            prop_assert!(after.state().refunded_amount <= after.terms().amount.minor());
            payment = after;
            prop_assert!(balance.is_balanced());
            prop_assert_eq!(balance.frozen.get(), frozen_by(&payment));
        }
    }
}
