//! The recipient of a hosted withdrawal, who is named on its page.

use std::collections::BTreeMap;

use quipu_kernel::{Currency, PaymentId};
use serde_json::json;

use super::{
    settle::{issuing, settle},
    world::{START, TENANT, World, deposit, ready, with, withdrawal},
};
use crate::{Due, DueAction, FillError, FillRecipient, Status, Trigger};

const CLABE: &str = "032180000118359719";

/// A world with money, whose rail wants everything at once.
fn funded() -> World {
    let world = World::with_rail(issuing(DueAction::Submit));
    world.fund(Currency::MXN, 1_000_000);
    world
}

/// A withdrawal that waits for its recipient.
fn waiting(world: &World) -> PaymentId {
    world.created(&with(withdrawal(), &json!({"type": "withdrawal_pp", "payout": null}))).id().clone()
}

fn fill(world: &World, id: &PaymentId, account: &str) -> Result<(), FillError> {
    let store = world.store.clone();
    let (rails, clock) = (world.rails.clone(), world.clock.clone());
    let entered = BTreeMap::from([("bank_account".to_owned(), account.to_owned())]);
    ready(FillRecipient::new(store.clone(), store.clone(), store, rails, clock).run(TENANT, id, &entered))
}

#[test]
fn a_withdrawal_takes_one_recipient_and_is_then_like_any_other() {
    let world = funded();
    let id = waiting(&world);
    assert!(world.store.payment(&id).waits_for_recipient());
    assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Expire));
    assert!(matches!(fill(&world, &id, "12"), Err(FillError::Invalid(_))));
    fill(&world, &id, CLABE).expect("taken");
    let payment = world.store.payment(&id);
    let account = payment.state().payout.as_ref().and_then(|payout| payout.bank_account.as_deref());
    assert_eq!((account, payment.terms().expires_at), (Some(CLABE), None));
    assert_eq!(payment.state().version, 1, "its status does not change");
    assert_eq!(world.store.due(&id), Some(Due { at: START, action: DueAction::Submit }));
    assert!(!payment.waits_for_recipient());
    assert!(matches!(fill(&world, &id, CLABE), Err(FillError::NotAwaited)));
}

#[test]
fn nobody_is_awaited_by_what_has_ended_or_needs_no_recipient() {
    let world = funded();
    let others = [
        world.created(&with(deposit(), &json!({"merchant_reference": "a deposit"}))).id().clone(),
        world.created(&with(withdrawal(), &json!({"merchant_reference": "a withdrawal"}))).id().clone(),
    ];
    for id in others {
        assert!(matches!(fill(&world, &id, CLABE), Err(FillError::NotAwaited)));
    }
    let cancelled = waiting(&world);
    world.moved(&cancelled, Trigger::Cancel);
    assert!(matches!(fill(&world, &cancelled, CLABE), Err(FillError::NotAwaited)));
    let unknown = "pay_1763683200000_zzzzzzzzzzzz".parse().expect("an identifier");
    assert!(matches!(fill(&world, &unknown, CLABE), Err(FillError::NotFound)));

    let late = funded();
    let id = waiting(&late);
    let end = late.store.payment(&id).terms().expires_at.expect("it expires");
    late.clock.advance(end.millis() - START.millis() - 1);
    late.store.set_routes(Vec::new());
    assert!(matches!(fill(&late, &id, CLABE), Err(FillError::MethodNotAvailable)), "its route is gone");
    late.clock.advance(1);
    assert!(matches!(fill(&late, &id, CLABE), Err(FillError::NotAwaited)), "its time is over");
}

#[test]
fn a_recipient_who_comes_with_the_end_is_paid_though_the_end_is_in_hand() {
    let world = funded();
    let id = waiting(&world);
    let end = world.store.payment(&id).terms().expires_at.expect("it expires");
    world.clock.advance(end.millis() - START.millis() - 1);
    let expiry = world.store.claim(&id).expect("due");
    fill(&world, &id, CLABE).expect("taken in the last moment");
    world.clock.advance(1);
    ready(settle(&world).attend(&expiry)).expect("nothing to do");
    assert_eq!(world.store.payment(&id).status(), Status::Pending);
    assert_eq!(world.store.due(&id).map(|due| due.action), Some(DueAction::Submit), "it is still to be paid");
}
