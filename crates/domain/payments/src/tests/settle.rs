//! Workers: submitting, asking, expiring.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mockall::predicate::always;
use quipu_kernel::{Clock as _, Currency, MAX_MINOR, Page, PaymentId, Timestamp};
use quipu_ledger::PostingError;
use quipu_merchants::Method;
use serde_json::json;

use super::world::{
    MockBank, START, TENANT, World, amount, bank_asked_after, bank_with, deposit, minor, ready, standing,
    with, withdrawal,
};
use crate::{
    Arrival, Capacity, CrossTenantReads as _, Due, DueAction, Failure, IssuedInstructions, Payment,
    PaymentType, ProcessRailEvent, RailEvent, RailEventKind, RailStatus, Rails, ReceiptFilter, SettleError,
    SettlePayment, SettlementPorts, Status, Submission, payment::changes::postponed,
};

/// The rail's word that so much has arrived.
pub(super) fn arrived(units: i64) -> RailStatus {
    let (amount, currency) = (amount(units), Currency::MXN);
    RailStatus::Completed(Arrival { amount, currency, provider_reference: None })
}

/// When the rail is asked about an open outcome.
const GAPS: &[Duration] = &[Duration::from_secs(2), Duration::from_secs(10)];

/// The same, with one gap more.
const LONGER_GAPS: &[Duration] = &[Duration::from_secs(2), Duration::from_secs(10), Duration::from_mins(1)];

pub(super) fn later(seconds: u64) -> Timestamp {
    START.plus(Duration::from_secs(seconds))
}

/// A rail on which everything is due by this action: a submission at once, a question by the schedule.
pub(super) fn issuing(action: DueAction) -> MockBank {
    issuing_asked_after(GAPS, action)
}

/// The same, asked about an open outcome after these gaps.
fn issuing_asked_after(gaps: &'static [Duration], action: DueAction) -> MockBank {
    let mut rail = bank_asked_after(gaps);
    let at = if action == DueAction::Ask { START.plus(gaps[0]) } else { START };
    let due = Some(Due { at, action });
    rail.expect_issue().returning(move |_, _| IssuedInstructions { due, ..IssuedInstructions::default() });
    rail
}

pub(super) fn settle(world: &World) -> SettlePayment {
    let store = world.store.clone();
    let (rails, clock, entropy) = (world.rails.clone(), world.clock.clone(), world.entropy.clone());
    let rail_events = ProcessRailEvent::new(store.clone(), store.clone(), clock.clone(), entropy.clone());
    let queue = Arc::new(store.queue());
    let (commit, rail_events) = (store.clone(), Arc::new(rail_events));
    SettlePayment::new(SettlementPorts { commit, queue, reads: store, rails, rail_events, clock, entropy })
}

/// Attends to the payment as a worker that has just claimed it.
pub(super) fn attend(world: &World, id: &PaymentId) -> Payment {
    if let Some(claim) = world.store.claim(id) {
        ready(settle(world).attend(&claim)).expect("attended");
    }
    world.store.payment(id)
}

/// What came of each event of a rail that is stored with the payment.
fn stored(world: &World, payment: &Payment) -> Vec<String> {
    let timeline = ready(world.store.timeline(payment)).expect("read");
    timeline.callbacks.into_iter().map(|line| line.outcome).collect()
}

pub(super) fn withdrawal_on(rail: MockBank) -> (World, PaymentId) {
    let world = World::with_rail(rail);
    world.fund(Currency::MXN, 1_000_000);
    let id = world.created(&withdrawal()).id().clone();
    (world, id)
}

#[test]
fn a_withdrawal_is_processing_before_its_rail_hears_of_it() {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit()
        .withf(|payment| payment.status() == Status::Processing && payment.state().version == 2)
        .times(1)
        .returning(|_| Submission::Accepted { provider_reference: None });
    rail.expect_ask().with(always()).times(1).returning(|_| arrived(50_000));
    let (world, id) = withdrawal_on(rail);
    let submitted = attend(&world, &id);
    assert_eq!(submitted.state().version, 2);
    assert_eq!(world.store.due(&id), Some(Due { at: later(2), action: DueAction::Ask }));
    let crash_guard = world.store.rows().commits[1].clone();
    assert_eq!(crash_guard.due, Some(Due { at: later(30), action: DueAction::Submit }));
    assert!(crash_guard.takes, "another makes it if this node dies");
    let completed = attend(&world, &id);
    assert_eq!((completed.status(), completed.state().version), (Status::Completed, 3));
    assert_eq!(stored(&world, &completed), [""; 0], "an answer that nobody can repeat is not stored");
    let balance = world.store.balance_of(TENANT, Currency::MXN);
    assert_eq!((balance.frozen.get(), balance.withdrawal.get()), (0, 50_000));
}

#[test]
fn a_withdrawal_waits_longer_for_an_open_circuit_than_for_room() {
    let waits = |capacity: fn() -> Capacity, times| {
        let mut rail = bank_with(capacity);
        let due = Some(Due { at: START, action: DueAction::Submit });
        rail.expect_issue()
            .returning(move |_, _| IssuedInstructions { due, ..IssuedInstructions::default() });
        rail.expect_submit().never();
        let (world, id) = withdrawal_on(rail);
        let wait = || {
            let asked = world.clock.now();
            assert_eq!(attend(&world, &id).status(), Status::Pending);
            world.store.due(&id).expect("due again").at.since(asked).as_millis()
        };
        let waits = (0..times).map(|_| wait()).collect::<Vec<_>>();
        assert_eq!(world.store.claim(&id).map(|claim| claim.due), Some(START), "it has waited since then");
        waits
    };
    assert_eq!(waits(|| Capacity::CircuitOpen, 2), [15_000; 2]);
    assert_eq!(waits(|| Capacity::Busy, 7), [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
}

#[test]
fn a_submission_that_a_crash_cut_off_is_made_again() {
    let mut rail = issuing(DueAction::Submit);
    let (crash, crashes) = (Arc::new(OnceLock::<Box<dyn Fn() + Send + Sync>>::new()), AtomicBool::new(true));
    let at_call = Arc::clone(&crash);
    rail.expect_submit().times(2).returning(move |_| {
        if crashes.swap(false, Ordering::Relaxed) {
            at_call.get().expect("a crash")();
        }
        Submission::Accepted { provider_reference: None }
    });
    let (world, id) = withdrawal_on(rail);
    let store = Arc::clone(&world.store);
    let fail = move || store.fails.store(true, Ordering::Relaxed);
    assert!(crash.set(Box::new(fail)).is_ok(), "set once");
    let claim = world.store.claim(&id).expect("due");
    ready(settle(&world).attend(&claim)).expect_err("what came of the submission cannot be written");
    world.store.fails.store(false, Ordering::Relaxed);
    assert_eq!(world.store.due(&id), Some(Due { at: later(30), action: DueAction::Submit }));
    assert_eq!(attend(&world, &id).state().version, 2, "no second step, only a second call");
    assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Ask));
}

#[test]
fn a_rail_that_never_hears_of_a_withdrawal_is_sent_it_again_on_its_schedule() {
    use DueAction::{Ask, Submit};
    let mut rail = issuing_asked_after(LONGER_GAPS, Submit);
    rail.expect_submit().times(4).returning(|_| Submission::Unknown);
    rail.expect_submit().times(1).returning(|_| Submission::NotSent);
    rail.expect_submit().returning(|_| Submission::Unknown);
    rail.expect_ask().returning(|_| RailStatus::NotFound);
    let (world, id) = withdrawal_on(rail);
    let step = || {
        let due = world.store.due(&id).expect("due");
        world.clock.advance(i64::try_from(due.at.since(world.clock.now()).as_millis()).expect("soon"));
        attend(&world, &id);
        (due.action, due.at.since(START).as_secs())
    };
    let steps: Vec<_> = (0..12).map(|_| step()).collect();
    let expected = [
        (Submit, 0),
        (Ask, 2),
        (Submit, 2),
        (Ask, 12),
        (Submit, 12),
        (Ask, 72),
        (Submit, 72),
        (Ask, 132),
        // The rail takes no calls, which is no question.
        (Submit, 132),
        (Submit, 147),
        (Ask, 207),
        (Submit, 207),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_rejected_withdrawal_fails_and_its_money_is_free() {
    let mut rail = issuing(DueAction::Submit);
    let failure = Failure { code: "NO_ACCOUNT".to_owned(), message: "no such account".to_owned() };
    let rejected = failure.clone();
    rail.expect_submit().returning(move |_| Submission::Rejected(rejected.clone()));
    let (world, id) = withdrawal_on(rail);
    let failed = attend(&world, &id);
    assert_eq!((failed.status(), failed.state().failure.as_ref()), (Status::Failed, Some(&failure)));
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN).available, minor(1_000_000));
}

#[test]
fn a_pending_answer_is_asked_for_again_but_never_beyond_expiry() {
    let mut rail = issuing(DueAction::Ask);
    rail.expect_ask().times(1).returning(|_| RailStatus::Silent);
    rail.expect_ask().times(1).returning(|_| RailStatus::WillReport);
    rail.expect_ask().times(1).returning(|_| RailStatus::WillReport);
    rail.expect_instruct().times(0);
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    let expiry = Due { at: START.plus(Duration::from_hours(24)), action: DueAction::Expire };
    attend(&world, &id);
    assert_eq!(world.store.due(&id), Some(Due { at: later(10), action: DueAction::Ask }));
    attend(&world, &id);
    assert_eq!(world.store.due(&id), Some(expiry));
    let due = Some(Due { at: START, action: DueAction::Ask });
    let asked = postponed(&world.store.payment(&id), START, due);
    ready(quipu_commit::Commit::commit(&*world.store, asked)).expect("due");
    attend(&world, &id);
    assert_eq!(world.store.due(&id), Some(expiry));
    let expired = attend(&world, &id);
    assert_eq!((expired.status(), expired.state().version), (Status::Expired, 2));
    assert_eq!(world.store.due(&id), None);
    assert_eq!(expired.state().failure.as_ref().map(|failure| failure.code.as_str()), Some("EXPIRED"));
}

#[test]
fn a_rail_that_has_more_to_report_is_asked_again_when_it_says() {
    let report = |payment: &Payment, kind, again| {
        let event = RailEvent {
            id: format!("{kind:?}"),
            kind,
            rail_reference: payment.id().as_str().to_owned(),
            amount: Some(payment.terms().amount),
            currency: Some(payment.terms().currency),
            occurred_at: None,
            provider_reference: None,
            code: None,
            message: None,
        };
        RailStatus::Events(vec![event], again)
    };
    let mut rail = issuing(DueAction::Ask);
    rail.expect_ask()
        .times(1)
        .returning(move |payment| report(payment, RailEventKind::Completed, Some(later(60))));
    rail.expect_ask().times(1).returning(|_| RailStatus::Events(Vec::new(), Some(later(90))));
    rail.expect_ask().times(1).returning(move |payment| report(payment, RailEventKind::Completed, None));
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    assert_eq!(attend(&world, &id).status(), Status::Completed);
    assert_eq!(world.store.due(&id), Some(Due { at: later(60), action: DueAction::Ask }));
    attend(&world, &id);
    assert_eq!(world.store.due(&id), Some(Due { at: later(90), action: DueAction::Ask }));
    assert_eq!(attend(&world, &id).state().version, 2, "it reports nothing new");
    assert_eq!(world.store.due(&id), None);
}

#[test]
fn a_question_that_was_not_sent_comes_again_soon_and_uses_up_no_step_of_the_schedule() {
    let mut rail = issuing(DueAction::Ask);
    for status in [RailStatus::CircuitOpen, RailStatus::Busy, RailStatus::CircuitOpen, RailStatus::Silent] {
        rail.expect_ask().times(1).return_once(|_| status);
    }
    rail.expect_ask().returning(|_| RailStatus::CircuitOpen);
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    for seconds in [15, 4, 15, 10] {
        attend(&world, &id);
        assert_eq!(world.store.due(&id), Some(Due { at: later(seconds), action: DueAction::Ask }));
    }
    world.clock.advance(86_390_000);
    attend(&world, &id);
    assert_eq!(world.store.due(&id), Some(Due { at: later(86_400), action: DueAction::Expire }));
}

#[test]
fn a_withdrawal_in_flight_waits_for_word_without_end() {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().returning(|_| Submission::Accepted { provider_reference: None });
    rail.expect_ask().returning(|_| RailStatus::WillReport);
    let (world, id) = withdrawal_on(rail);
    attend(&world, &id);
    let waiting = attend(&world, &id);
    assert_eq!((waiting.status(), world.store.due(&id)), (Status::Processing, None));
    assert_eq!(attend(&world, &id), waiting, "nothing due, nothing done");
}

#[test]
fn a_rail_that_names_another_amount_is_asked_on_and_may_correct_itself() {
    let mut rail = issuing(DueAction::Submit);
    rail.expect_submit().returning(|_| Submission::Accepted { provider_reference: None });
    rail.expect_ask().times(2).returning(|_| arrived(49_999));
    rail.expect_ask().times(1).returning(|_| arrived(50_000));
    let (world, id) = withdrawal_on(rail);
    attend(&world, &id);
    for _ in 0..2 {
        assert_eq!(attend(&world, &id).status(), Status::Processing);
        assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Ask));
        let parked = ready(world.store.receipts(&ReceiptFilter::default(), Page::default()));
        assert_eq!(parked.expect("read").1, 1);
    }
    let completed = attend(&world, &id);
    assert_eq!(completed.status(), Status::Completed);
    assert_eq!(stored(&world, &completed), ["parked"], "once, however often it was answered");
    assert_eq!(world.store.due(&id), None);
}

#[test]
fn an_unresolved_redirectpay_deposit_is_cancelled_not_expired() {
    let world = World::new();
    let id =
        world.created(&with(deposit(), &json!({"method": "redirectpay", "currency": "LKR"}))).id().clone();
    let cancelled = attend(&world, &id);
    assert_eq!(cancelled.status(), Status::Cancelled);
    let rows = world.store.rows();
    assert_eq!(rows.events.last().map(|event| event.name.as_str()), Some("payment.cancelled"));
}

#[test]
fn a_page_without_a_recipient_expires_and_frees_its_money() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let unfilled = json!({"type": "withdrawal_pp", "payout": null});
    let id = world.created(&with(withdrawal(), &unfilled)).id().clone();
    assert_eq!(attend(&world, &id).status(), Status::Expired);
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN).available, minor(50_000));
}

#[test]
fn an_outcome_that_the_ledger_cannot_take_is_tried_again_later() {
    let mut rail = issuing(DueAction::Ask);
    rail.expect_ask().returning(|_| arrived(100_000));
    let world = World::with_rail(rail);
    let id = world.created(&deposit()).id().clone();
    world.fund(Currency::MXN, MAX_MINOR);
    // Said aloud as well, since only the operator can help.
    let told = ready(settle(&world).attend(&world.store.claim(&id).expect("due")));
    assert!(matches!(told, Err(SettleError::Unbookable(PostingError::OutOfRange))), "{told:?}");
    let waiting = world.store.payment(&id);
    assert_eq!(waiting.status(), Status::Processing);
    assert_eq!(world.store.due(&id), Some(Due { at: later(3_600), action: DueAction::Ask }));
}

#[test]
fn what_is_due_without_meaning_is_due_no_more() {
    let world = World::new();
    let due = Some(Due { at: START, action: DueAction::Expire });
    let completed = standing(PaymentType::Deposit, Method::Spei, Status::Completed, false);
    let id = completed.id().clone();
    world.store.add_payment(completed.clone());
    ready(quipu_commit::Commit::commit(&*world.store, postponed(&completed, START, due))).expect("due");
    let left = attend(&world, &id);
    assert_eq!((left.status(), left.state().version), (Status::Completed, 1));
    assert_eq!(world.store.due(&id), None);
}

#[test]
fn what_waits_on_a_rail_that_is_gone_comes_again_soon_and_is_told_of_now_and_then() {
    let (mut world, id) = withdrawal_on(issuing(DueAction::Submit));
    world.rails = Arc::new(Rails::default());
    let settle = settle(&world);
    let mut told_at = Vec::new();
    for seconds in (0..=64).step_by(4) {
        match ready(settle.attend(&world.store.claim(&id).expect("due"))) {
            Err(SettleError::UnknownRail(_)) => told_at.push(seconds),
            told => assert!(told.is_ok(), "{told:?}"),
        }
        assert_eq!(world.store.payment(&id).status(), Status::Pending);
        let again = Due { at: later(seconds + 4), action: DueAction::Submit };
        assert_eq!(world.store.due(&id), Some(again), "another node may know the rail");
        world.clock.advance(4_000);
    }
    assert_eq!(told_at, [0, 60]);
}

#[test]
fn a_deposit_on_a_rail_that_is_gone_ends_in_its_time() {
    let redirected = with(deposit(), &json!({"method": "redirectpay", "currency": "LKR"}));
    for (request, ended) in [(deposit(), Status::Expired), (redirected, Status::Cancelled)] {
        let mut world = World::with_rail(issuing(DueAction::Ask));
        let id = world.created(&request).id().clone();
        world.rails = Arc::new(Rails::default());
        let settle = settle(&world);
        let attend = || ready(settle.attend(&world.store.claim(&id).expect("due")));
        world.clock.advance(86_397_000);
        attend().expect_err("the rail is gone");
        assert_eq!(world.store.due(&id), Some(Due { at: later(86_400), action: DueAction::Expire }));
        world.clock.advance(3_000);
        attend().expect("no rail is needed");
        assert_eq!((world.store.payment(&id).status(), world.store.due(&id)), (ended, None));
    }
}
