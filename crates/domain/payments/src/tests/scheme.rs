//! What a payer decides on the page that plays a payment scheme.

use std::sync::{Arc, OnceLock};

use quipu_kernel::{Environment, Page, Tenant};
use quipu_merchants::Method;

use super::{
    settle::{arrived, attend, issuing},
    world::{START, TENANT, World, deposit, ready, standing},
};
use crate::{
    CrossTenantReads as _, DueAction, Failure, FailureCode, Payment, PaymentReads, PaymentType,
    ProcessRailEvent, RailStatus, ReceiptFilter, SchemeDecision, SimulateScheme, Status, Terms,
    TransitionContext, Trigger,
};

fn scheme(world: &World) -> SimulateScheme {
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let rail_events =
        ProcessRailEvent::new(store.clone(), store.clone(), clock.clone(), world.entropy.clone());
    SimulateScheme::new(store.clone(), store, Arc::new(rail_events), clock)
}

fn parked(world: &World) -> u64 {
    ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read").1
}

#[test]
fn a_payer_completes_or_declines_a_payment_that_waits() {
    for (decision, status, code) in [
        (SchemeDecision::Approve, Status::Completed, None),
        (SchemeDecision::Decline, Status::Failed, Some(FailureCode::Declined.as_str())),
    ] {
        let world = World::new();
        let id = world.created(&deposit()).id().clone();
        ready(scheme(&world).run(TENANT, &id, decision)).expect("no error");
        let payment = world.store.payment(&id);
        let failure = payment.state().failure.as_ref().map(|failure| failure.code.as_str());
        assert_eq!((payment.status(), failure), (status, code));
    }
}

#[test]
fn no_payer_of_the_live_environment_plays_a_scheme() {
    let live = Tenant::new(TENANT.merchant(), Environment::Live);
    for decision in [SchemeDecision::Approve, SchemeDecision::Decline, SchemeDecision::Leave] {
        let world = World::new();
        let played = standing(PaymentType::Deposit, Method::Spei, Status::Processing, false);
        let terms = Terms { tenant: live, ..played.terms().clone() };
        let payment = Payment::restore(terms, played.state().clone());
        world.store.add_payment(payment.clone());
        ready(scheme(&world).run(live, payment.id(), decision)).expect("no error");
        let found = ready(PaymentReads::payment(&*world.store, live, payment.id())).expect("read");
        assert_eq!(found, Some(payment), "{decision:?}");
        assert_eq!(world.store.rows().commits.len(), 1, "nothing after the payment itself: {decision:?}");
    }
}

#[test]
fn of_two_decisions_at_once_the_second_changes_nothing() {
    for (decision, first, status) in [
        (SchemeDecision::Approve, Trigger::Fail, Status::Failed),
        (SchemeDecision::Decline, Trigger::Confirm, Status::Completed),
        (SchemeDecision::Leave, Trigger::Fail, Status::Failed),
    ] {
        let world = World::new();
        let (store, scheme) = (world.store.clone(), scheme(&world));
        let payment = world.created(&deposit());
        let id = payment.id().clone();
        let moved = payment.apply(first, TransitionContext::new(START, &*world.entropy)).expect("a move");
        store.intrude(moved.changes);
        ready(scheme.run(TENANT, &id, decision)).expect("no error");
        assert_eq!(store.payment(&id).status(), status);
        assert_eq!(parked(&world), 0, "{decision:?}");
    }
}

/// A deposit about which the simulator gives this answer, at the moment of which something else happens.
fn answered_at_once_with(
    answer: RailStatus,
    meanwhile: impl Fn(&World, &Payment) + Send + Sync + 'static,
) -> (Arc<World>, Status) {
    let happens = Arc::new(OnceLock::<Box<dyn Fn(&Payment) + Send + Sync>>::new());
    let mut rail = issuing(DueAction::Ask);
    let at_question = Arc::clone(&happens);
    rail.expect_ask().returning(move |payment| {
        at_question.get().expect("something")(payment);
        answer.clone()
    });
    let world = Arc::new(World::with_rail(rail));
    let id = world.created(&deposit()).id().clone();
    let there = Arc::clone(&world);
    assert!(happens.set(Box::new(move |payment| meanwhile(&there, payment))).is_ok(), "set once");
    let status = attend(&world, &id).status();
    (world, status)
}

#[test]
fn what_a_payer_chose_first_is_not_contradicted_by_the_simulator() {
    let refused = || {
        let failure = Failure::new(FailureCode::SimulatedFailure, "");
        RailStatus::Failed(failure)
    };
    for (answer, decision, status) in [
        (arrived(100_000), SchemeDecision::Decline, Status::Failed),
        (refused(), SchemeDecision::Approve, Status::Completed),
    ] {
        let (world, ended) = answered_at_once_with(answer, move |world, payment| {
            ready(scheme(world).run(TENANT, payment.id(), decision)).expect("no error");
        });
        assert_eq!((ended, parked(&world)), (status, 0), "{decision:?}");
    }
}

#[test]
fn what_staff_decided_first_is_contradicted_by_the_simulator() {
    let (world, ended) = answered_at_once_with(arrived(100_000), |world, payment| {
        world.moved(payment.id(), Trigger::Fail);
    });
    assert_eq!((ended, parked(&world)), (Status::Failed, 1));
}
