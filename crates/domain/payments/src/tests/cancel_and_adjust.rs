//! Cancelling payments and adjusting balances.

use std::sync::atomic::Ordering;

use quipu_kernel::{Currency, Environment, PaymentId, Problems, Tenant};
use quipu_merchants::{Actor, AuditRecord};
use serde_json::{Value, json};

use super::world::{START, TENANT, World, deposit, minor, ready, withdrawal};
use crate::{
    AdjustBalance, Adjustment, CancelError, CancelPayment, CancelReason, DecideError, Payment, Status,
    TransitionContext, Trigger,
};

fn cancel(
    world: &World,
    tenant: Tenant,
    id: &PaymentId,
    reason: Option<&str>,
) -> Result<Payment, CancelError> {
    let store = world.store.clone();
    let use_case = CancelPayment::new(store.clone(), store, world.clock.clone(), world.entropy.clone());
    let reason = CancelReason::parse(&json!({ "reason": reason })).expect("a reason");
    ready(use_case.run(tenant, id, reason))
}

#[test]
fn a_pending_withdrawal_is_cancelled_once_and_its_money_is_free() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let id = world.created(&withdrawal()).id().clone();
    let cancelled = cancel(&world, TENANT, &id, Some("changed my mind")).expect("cancelled");
    assert_eq!(cancelled.status(), Status::Cancelled);
    let failure = cancelled.state().failure.as_ref().expect("a reason");
    assert_eq!((failure.code.as_str(), failure.message.as_str()), ("CANCELLED", "changed my mind"));
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN).available, minor(50_000));
    let again = cancel(&world, TENANT, &id, None).expect_err("a second time");
    assert!(matches!(again, CancelError::AlreadyProcessed(Status::Cancelled)));
}

#[test]
fn a_deposit_is_not_the_merchants_to_cancel() {
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    let refusal = cancel(&world, TENANT, &id, None).expect_err("processing");
    assert!(matches!(refusal, CancelError::AlreadyProcessed(Status::Processing)));
}

#[test]
fn another_tenants_payment_does_not_exist() {
    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    let live = Tenant::new(TENANT.merchant(), Environment::Live);
    assert!(matches!(cancel(&world, live, &id, None), Err(CancelError::NotFound)));
}

#[test]
fn a_worker_that_submits_first_wins() {
    let world = World::new();
    world.fund(Currency::MXN, 50_000);
    let payment = world.created(&withdrawal());
    let id = payment.id().clone();
    let how = TransitionContext::new(START, &*world.entropy);
    world.store.intrude(payment.apply(Trigger::Submit, how).expect("a move").changes);
    let refusal = cancel(&world, TENANT, &id, None).expect_err("submitted");
    assert!(matches!(refusal, CancelError::AlreadyProcessed(Status::Processing)));
    world.store.fails.store(true, Ordering::Relaxed);
    assert!(matches!(cancel(&world, TENANT, &id, None), Err(CancelError::Store(_))));
}

fn adjustment(units: i64) -> Result<Adjustment, Problems> {
    let environment = TENANT.environment();
    let body =
        json!({ "environment": environment, "currency": "MXN", "amount": units, "reason": "pre-funding" });
    Adjustment::parse(TENANT.merchant(), &body)
}

#[test]
fn an_adjustment_is_never_of_zero() {
    let text = "must be a signed amount, not zero, of at most 2^53 - 1";
    assert_eq!(adjustment(0).expect_err("zero"), Problems::of("amount", text));
}

fn adjust(world: &World, units: i64) -> Result<(), DecideError> {
    let audit = AuditRecord {
        id: "a".to_owned(),
        at: START,
        actor: Actor::shell(),
        action: "balance.adjust".to_owned(),
        merchant_id: Some(TENANT.merchant()),
        subject: "merchant/7".to_owned(),
        before: Value::Null,
        after: Value::Null,
    };
    let use_case = AdjustBalance::new(world.store.clone(), world.clock.clone());
    ready(use_case.run(&adjustment(units).expect("an order"), audit.into()))
}

#[test]
fn an_adjustment_moves_the_balance_and_is_audited() {
    let world = World::new();
    adjust(&world, 500).expect("funded");
    adjust(&world, -200).expect("corrected");
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN).available, minor(300));
    assert!(world.store.rows().commits.iter().all(|changes| changes.audited));
    assert!(matches!(adjust(&world, -301), Err(DecideError::InsufficientBalance)));
    assert!(matches!(adjust(&world, quipu_kernel::MAX_MINOR), Err(DecideError::OutOfRange)));
    world.store.fails.store(true, Ordering::Relaxed);
    assert!(matches!(adjust(&world, 1), Err(DecideError::Store(_))));
}
