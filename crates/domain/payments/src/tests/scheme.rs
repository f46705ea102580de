//! What a payer decides on the page that plays a payment scheme.

use std::sync::Arc;

use quipu_kernel::Page;

use super::world::{START, TENANT, World, deposit, ready};
use crate::{
    Happening, HearRail, MoneyReads as _, PlayScheme, ReceiptFilter, SchemeDecision, Status, Trigger,
};

#[test]
fn of_two_decisions_at_once_the_second_changes_nothing() {
    for (decision, first, status) in [
        (SchemeDecision::Approve, Trigger::Fail, Status::Failed),
        (SchemeDecision::Decline, Trigger::Confirm, Status::Completed),
        (SchemeDecision::Leave, Trigger::Fail, Status::Failed),
    ] {
        let world = World::new();
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let hear = HearRail::new(store.clone(), store.clone(), clock.clone(), world.entropy.clone());
        let scheme = PlayScheme::new(store.clone(), store.clone(), Arc::new(hear), clock);
        let payment = world.created(&deposit());
        let id = payment.id().clone();
        store.intrude(payment.apply(first, Happening::new(START, &*world.entropy)).expect("a move"));
        ready(scheme.run(TENANT, &id, decision)).expect("no error");
        assert_eq!(store.payment(&id).status(), status);
        let (_, parked) = ready(store.receipts(&ReceiptFilter::default(), Page::default())).expect("read");
        assert_eq!(parked, 0, "{decision:?}");
    }
}
