//! What staff do with money that did not fit its payment.

use quipu_kernel::{Clock as _, Currency, MAX_MINOR, Page, PaymentId};
use quipu_merchants::{Actor, AuditRecord, Direction, Method, Route};
use serde_json::json;

use super::world::{START, TENANT, World, amount, deposit, minor, ready, route, with};
use crate::{
    CrossTenantReads as _, DecideError, ParkReason, Payment, ProcessRailEvent, RailEvent, RailEventKind,
    RailEventOutcome, Receipt, ReceiptFilter, RefundOrder, RefundPayment, Resolution, ResolveReceipt,
    StaffAction, Status, Trigger,
};

fn spei() -> Route {
    route(Method::Spei, Currency::MXN, Direction::Deposit, false)
}

fn action(world: &World) -> StaffAction<'_> {
    let actor = Actor { id: "op-1".to_owned(), name: "Nino".to_owned() };
    StaffAction { entropy: &*world.entropy, at: START, actor }
}

/// The event that `units` arrived for the payment of this reference.
fn money(reference: &str, units: i64, name: &str) -> RailEvent {
    RailEvent {
        id: name.to_owned(),
        kind: RailEventKind::Completed,
        rail_reference: reference.to_owned(),
        amount: Some(amount(units)),
        currency: Some(Currency::MXN),
        occurred_at: None,
        provider_reference: None,
        code: None,
        message: None,
    }
}

fn rail_events(world: &World) -> ProcessRailEvent {
    let (store, clock, entropy) = (world.store.clone(), world.clock.clone(), world.entropy.clone());
    ProcessRailEvent::new(store.clone(), store, clock, entropy)
}

/// A statement says that `units` arrived for the payment of this reference.
fn arrives(world: &World, reference: &str, units: i64, name: &str) -> RailEventOutcome {
    let event = money(reference, units, name);
    ready(rail_events(world).run_statement_entry("simulator", &event)).expect("processed")
}

fn parked(world: &World) -> Vec<Receipt> {
    ready(world.store.receipts(&ReceiptFilter::default(), Page::default())).expect("read").0
}

/// Resolves the only receipt, and answers the line of the audit log too.
fn resolved(world: &World, resolution: Resolution) -> Result<AuditRecord, DecideError> {
    let store = world.store.clone();
    let resolve =
        ResolveReceipt::new(store.clone(), store.clone(), store, world.clock.clone(), world.entropy.clone());
    let [receipt] = &parked(world)[..] else { panic!("one receipt") };
    let line = std::sync::Mutex::new(None);
    let record = |before: &Receipt, after: &Receipt| {
        let audit = action(world).resolved(before, after);
        *line.lock().expect("nobody panicked") = Some(audit.clone());
        audit.into()
    };
    ready(resolve.run(&receipt.receipt_id, resolution, &record))?;
    Ok(line.into_inner().expect("nobody panicked").expect("a line"))
}

/// A deposit of 1,000 by `agreed`, for which `units` arrive and are accepted while the merchant has `routes`.
fn accepted(agreed: Route, units: i64, routes: Vec<Route>) -> (World, Payment) {
    let world = World::new();
    world.store.set_routes(vec![agreed]);
    let id = world.created(&with(deposit(), &json!({"amount": 1_000}))).id().clone();
    assert_eq!(
        arrives(&world, id.as_str(), units, "first"),
        RailEventOutcome::Parked(ParkReason::AmountMismatch)
    );
    world.store.set_routes(routes);
    resolved(&world, Resolution::CompleteWithReceivedAmount).expect("resolved");
    let payment = world.store.payment(&id);
    (world, payment)
}

fn refund(world: &World, id: &PaymentId, units: i64) -> Result<Payment, DecideError> {
    let store = world.store.clone();
    let refund = RefundPayment::new(store.clone(), store, world.clock.clone(), world.entropy.clone());
    let order = RefundOrder { amount: amount(units), reason: None, ticket_id: None };
    let record =
        |before: &Payment, after: &Payment, refund: &_| action(world).refunded(before, after, refund).into();
    ready(refund.run(id, &order, &record)).map(|(payment, _)| payment)
}

#[test]
fn the_fee_follows_from_what_arrived_and_never_exceeds_it() {
    let dear = |fee_fixed| {
        let mut route = spei();
        route.fee_fixed = minor(fee_fixed);
        route
    };
    let mut share = spei();
    share.fee_bps = 1_000;
    for (agreed, now, expected) in [
        (share.clone(), vec![share.clone()], 40),
        (share.clone(), vec![dear(7)], 7),
        // Without a route there is only the fee that was agreed.
        (share, vec![], 100),
        (dear(5), vec![dear(401)], 400),
        (dear(500), vec![], 400),
    ] {
        let (_, payment) = accepted(agreed, 400, now.clone());
        let state = payment.state();
        assert_eq!(state.status, Status::Completed);
        assert_eq!((state.received_amount, state.fee.get()), (Some(amount(400)), expected), "{now:?}");
        assert_eq!(payment.net_amount().get(), 400 - expected);
    }
}

#[test]
fn what_arrived_can_be_refunded_and_no_more() {
    for units in [400, 1_500] {
        let (world, payment) = accepted(spei(), units, vec![spei()]);
        let over = refund(&world, payment.id(), units + 1);
        assert!(matches!(over, Err(DecideError::ExceedsPayment(_))), "{over:?}");
        let part = refund(&world, payment.id(), units - 1).expect("a part");
        assert_eq!(part.status(), Status::PartialRefund);
        let all = refund(&world, payment.id(), 1).expect("the rest");
        assert_eq!(all.status(), Status::Refunded);
    }
}

#[test]
fn money_of_the_amount_that_a_person_booked_is_further_money() {
    let (world, payment) = accepted(spei(), 400, vec![spei()]);
    let second = arrives(&world, payment.id().as_str(), 400, "second");
    assert_eq!(second, RailEventOutcome::Parked(ParkReason::Contradiction));
}

#[test]
fn a_callback_about_the_same_part_again_may_tell_of_the_rest() {
    let (world, payment) = accepted(spei(), 500, vec![spei()]);
    let hears = |name: &str| {
        let event = money(payment.id().as_str(), 500, name);
        ready(rail_events(&world).run("simulator", &event)).expect("processed")
    };
    assert_eq!(hears("rest"), RailEventOutcome::Parked(ParkReason::Contradiction));
    assert_eq!(hears("rest"), RailEventOutcome::Known);
}

#[test]
fn money_beside_what_was_parked_is_further_money_whatever_a_person_decided() {
    let world = World::new();
    let id = world.created(&with(deposit(), &json!({"amount": 1_000}))).id().clone();
    let short = arrives(&world, id.as_str(), 999, "short");
    assert_eq!(short, RailEventOutcome::Parked(ParkReason::AmountMismatch));
    world.moved(&id, Trigger::Confirm);
    resolved(&world, Resolution::Ignore).expect("resolved");
    let whole = arrives(&world, id.as_str(), 1_000, "whole");
    assert_eq!(whole, RailEventOutcome::Parked(ParkReason::Contradiction));
}

#[test]
fn money_that_no_balance_can_take_waits_for_a_person_and_is_heard_once() {
    for from_statement in [true, false] {
        let world = World::new();
        let id = world.created(&deposit()).id().clone();
        world.fund(Currency::MXN, MAX_MINOR);
        let hears = |name: &str| {
            if from_statement {
                return arrives(&world, id.as_str(), 100_000, name);
            }
            ready(rail_events(&world).run("simulator", &money(id.as_str(), 100_000, name)))
                .expect("processed")
        };
        assert_eq!(hears("first"), RailEventOutcome::Parked(ParkReason::Unbookable));
        assert_eq!(hears("first"), RailEventOutcome::Known);
        assert_eq!(world.store.payment(&id).status(), Status::Processing);
        let [receipt] = &parked(&world)[..] else { panic!("one receipt") };
        assert_eq!((receipt.payment_id.as_ref(), receipt.reason), (Some(&id), ParkReason::Unbookable));
    }
}

#[test]
fn the_audit_log_names_no_merchant_where_a_receipt_has_none() {
    let world = World::new();
    assert_eq!(arrives(&world, "rent", 400, "rent"), RailEventOutcome::Parked(ParkReason::UnknownPayment));
    let completed = resolved(&world, Resolution::CompleteWithReceivedAmount);
    assert!(matches!(completed, Err(DecideError::NotAllowed(_))), "{completed:?}");
    let line = resolved(&world, Resolution::Ignore).expect("resolved");
    assert_eq!(line.merchant_id, None);
    assert!(line.subject.starts_with("receipt/"), "{}", line.subject);

    let world = World::new();
    let id = world.created(&deposit()).id().clone();
    arrives(&world, id.as_str(), 400, "short");
    let line = resolved(&world, Resolution::Ignore).expect("resolved");
    assert_eq!(line.merchant_id, Some(TENANT.merchant()));
    assert_eq!(line.subject, format!("payment/{id}"));
}

#[test]
fn a_receipt_is_shown_with_its_resolution_and_with_nulls_before() {
    let world = World::new();
    arrives(&world, "credit: rent", 1_000, "rent");
    let shown = || serde_json::to_string(&parked(&world)[0]).expect("JSON");
    assert!(shown().ends_with(r#","resolution":null,"resolved_at":null}"#), "{}", shown());
    resolved(&world, Resolution::Ignore).expect("resolved");
    let at = json!(world.clock.now());
    assert!(shown().ends_with(&format!(r#","resolution":"ignore","resolved_at":{at}}}"#)), "{}", shown());
}
