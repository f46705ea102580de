//! What merchants are told and shown of a payment.

use quipu_commit::Commit as _;
use quipu_kernel::{Currency, EventId};
use quipu_merchants::{BeneficiaryKind, Direction, Method};
use serde_json::{Value, json};

use super::world::{START, World, beneficiary, deposit, minor, ready, route, with, withdrawal};
use crate::{Failure, PaymentRecord, TransitionContext, Trigger, payment::moves::chain};

/// The payloads of everything that happened so far.
fn told(world: &World) -> Vec<Value> {
    let rows = world.store.rows();
    rows.events.iter().map(|event| serde_json::from_str(&event.payload).expect("JSON")).collect()
}

#[test]
fn a_new_deposit_is_told_of_in_the_decided_shape() {
    let world = World::new();
    let members = json!({"description": "two shoes", "external_id": "", "traffic_type": "vip"});
    let payment = world.created(&with(deposit(), &members));
    let events = told(&world);
    assert_eq!(events.len(), 1);
    let id = world.store.rows().events[0].id.clone();
    assert!(EventId::as_str(&id).starts_with("evt_"));
    assert_eq!(
        events[0],
        json!({
            "id": id.as_str(), "type": "payment.created", "created_at": "2025-11-21T00:00:00.000Z", "merchant_id": 7,
            "environment": "test",
            "data": {
                "status_version": 1,
                "payment": {
                    "transaction_id": payment.id().as_str(), "merchant_reference": "order-1", "type": "deposit",
                    "method": "spei", "currency": "MXN", "amount": 100_000, "fee": 0, "net_amount": 100_000,
                    "refunded_amount": 0, "status": "processing", "previous_status": null, "status_version": 1,
                    "failure": null, "created_at": "2025-11-21T00:00:00.000Z",
                    "updated_at": "2025-11-21T00:00:00.000Z",
                    "customer_data": {
                        "customer_email": "ana@example.com", "customer_name": "Ana", "reference": "order-1",
                        "description": "two shoes", "expires_at": "2025-11-22T00:00:00.000Z",
                        "requested_payment_type": "deposit", "commission": { "currency": "MXN", "total_minor": 0 },
                    },
                },
            },
        })
    );
}

#[test]
fn the_events_of_one_change_sort_in_their_order() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    for reference in 0..20 {
        world.created(&with(withdrawal(), &json!({"merchant_reference": reference.to_string()})));
    }
    let rows = world.store.rows();
    for pair in rows.events.chunks(2) {
        assert!(pair[0].id < pair[1].id, "{:?}", [&pair[0].id, &pair[1].id]);
    }
}

#[test]
fn the_events_of_steps_at_the_same_time_sort_in_the_order_of_the_steps() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    for reference in 0..20 {
        let body = with(withdrawal(), &json!({"merchant_reference": reference.to_string()}));
        let triggers = [Trigger::Submit, Trigger::Confirm, Trigger::Return];
        let moved = chain(world.created(&body), &triggers, &TransitionContext::new(START, &*world.entropy));
        ready(world.store.commit(moved.expect("moves").changes)).expect("committed");
    }
    let rows = world.store.rows();
    for ids in rows.events.chunks(7).map(|told| told.iter().map(|event| &event.id).collect::<Vec<_>>()) {
        assert!(ids.is_sorted(), "{ids:?}");
    }
}

#[test]
fn a_new_withdrawal_is_told_of_twice_with_its_payout() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    let payout = json!({
        "bank_account": "032180000118359719", "recipient_name": "Ana", "beneficiary_tax_id": "not told",
    });
    world.created(&with(withdrawal(), &json!({"payout": payout})));
    let events = told(&world);
    let names: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(names, ["payment.created", "payout.created"]);
    assert_ne!(events[0]["id"], events[1]["id"]);
    assert_eq!(events[0]["data"], events[1]["data"]);
    assert_eq!(
        events[0]["data"]["payment"]["customer_data"]["payout"],
        json!({"bank_account": "032180000118359719", "recipient_name": "Ana"})
    );
}

#[test]
fn all_of_the_whitelist_is_told_and_nothing_else() {
    let world = World::new();
    let mut dear = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    dear.fee_fixed = minor(25);
    world.store.set_routes(vec![dear]);
    world.fund(Currency::MXN, 1_000_000);
    let members = json!({
        "customer": { "name": "Ana", "email": "ana@example.com", "phone": "+52 55 1234 5678" },
        "description": "two shoes", "note": "a gift", "external_id": "e-1", "traffic_type": "vip",
        "payout": {
            "bank_code": "032", "bank_account": "032180000118359719", "recipient_name": "Ana Pérez",
            "account_type": "savings", "beneficiary_tax_id": "PEAA800101AAA",
        },
    });
    world.created(&with(withdrawal(), &members));
    assert_eq!(
        told(&world)[0]["data"]["payment"]["customer_data"],
        json!({
            "note": "a gift", "customer_email": "ana@example.com", "customer_phone": "+52 55 1234 5678",
            "customer_name": "Ana", "external_id": "e-1", "reference": "out-1", "description": "two shoes",
            "requested_payment_type": "withdrawal", "commission": { "currency": "MXN", "total_minor": 25 },
            "payout": {
                "bank_code": "032", "bank_account": "032180000118359719", "recipient_name": "Ana Pérez",
            },
        })
    );
}

#[test]
fn each_move_is_told_with_both_statuses_its_version_and_what_went_wrong() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    let id = world.created(&withdrawal()).id().clone();
    for trigger in [Trigger::Submit, Trigger::Confirm, Trigger::Return] {
        world.moved(&id, trigger);
    }
    let failed = world.created(&with(deposit(), &json!({"merchant_reference": "order-2"}))).id().clone();
    let failure = Failure { code: "NO_FUNDS".to_owned(), message: "the payer has too little".to_owned() };
    let how = TransitionContext { failure: Some(failure), ..TransitionContext::new(START, &*world.entropy) };
    let changes = world.store.payment(&failed).apply(Trigger::Fail, how).expect("a move").changes;
    ready(world.store.commit(changes)).expect("committed");

    let of_moves = told(&world).into_iter().filter_map(|event| {
        let (data, payment) = (&event["data"], &event["data"]["payment"]);
        assert_eq!(data["status_version"], payment["status_version"]);
        let members = ["previous_status", "status", "status_version", "refunded_amount", "failure"];
        let members: Vec<_> = members.iter().map(|member| payment[member].clone()).collect();
        let is_move = payment["previous_status"].is_string();
        is_move.then(|| json!({ "type": event["type"], "says": members }))
    });
    let returned = json!({ "code": "PAYOUT_RETURNED", "message": "the bank sent the payout back" });
    let no_funds = json!({ "code": "NO_FUNDS", "message": "the payer has too little" });
    assert_eq!(
        of_moves.collect::<Vec<_>>(),
        [
            json!({ "type": "payment.processing", "says": ["pending", "processing", 2, 0, null] }),
            json!({ "type": "payment.completed", "says": ["processing", "completed", 3, 0, null] }),
            json!({ "type": "payout.completed", "says": ["processing", "completed", 3, 0, null] }),
            json!({ "type": "payment.refunded", "says": ["completed", "refunded", 4, 50_000, returned] }),
            json!({ "type": "payout.failed", "says": ["completed", "refunded", 4, 50_000, returned] }),
            json!({ "type": "payment.failed", "says": ["processing", "failed", 2, 0, no_funds] }),
        ]
    );
}

fn partner_world() -> World {
    let world = World::new();
    world.store.set_routes(vec![route(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true)]);
    world.fund(Currency::GEL, 1_000_000);
    world.store.rows().beneficiaries.push(beneficiary(BeneficiaryKind::Sepa, 12));
    world
}

fn partner(destination: &Value) -> Value {
    let members =
        json!({"method": "bank_transfer", "currency": "GEL", "payout": {"partnerDestination": destination}});
    with(withdrawal(), &members)
}

#[test]
fn a_bank_beneficiary_gives_its_iban_swift_and_names() {
    let world = partner_world();
    let bank = json!({
        "iban": "GE29NB0000000101904917", "swift": "BAGAGE22", "beneficiaryName": "Nino", "beneficiaryBank": "BoG",
        "address": "Tbilisi",
    });
    world.created(&partner(&json!({"kind": "bank", "bank": bank})));
    assert_eq!(
        told(&world)[0]["data"]["payment"]["customer_data"]["payout"],
        json!({
            "bank_code": "BAGAGE22", "bank_account": "GE29NB0000000101904917", "recipient_name": "Nino",
            "bank_name": "BoG",
        })
    );
}

#[test]
fn a_saved_beneficiary_is_told_of_by_its_account_and_shown_as_it_was_sent() {
    let world = partner_world();
    let sent = json!({"kind": "sepa", "ibanAccountId": "12"});
    let payment = world.created(&partner(&sent));
    assert_eq!(
        told(&world)[0]["data"]["payment"]["customer_data"]["payout"],
        json!({"bank_account": "DE89370400440532013000", "recipient_name": "Nino", "bank_name": "Saved Bank"})
    );
    let record = serde_json::to_value(PaymentRecord::of(&payment)).expect("JSON");
    assert_eq!(record["payout"], json!({"partnerDestination": sent}));
}

#[test]
fn a_wallet_has_nothing_on_the_whitelist() {
    let world = partner_world();
    world.created(&partner(&json!({"kind": "wallet", "scheme": "phone", "value": "99555123"})));
    assert_eq!(told(&world)[0]["data"]["payment"]["customer_data"].get("payout"), None);
}

#[test]
fn a_record_is_one_flat_object() {
    let world = World::new();
    let payment = world.created(&with(deposit(), &json!({"webhook_url": "https://a.example/h"})));
    let record = serde_json::to_value(PaymentRecord::of(&payment)).expect("JSON");
    assert_eq!(
        record,
        json!({
            "transaction_id": payment.id().as_str(), "status": "processing", "amount": 100_000, "currency": "MXN",
            "method": "spei", "type": "deposit", "merchant_reference": "order-1",
            "created_at": "2025-11-21T00:00:00.000Z", "customer_id": payment.terms().customer.id.0,
            "customer": {
                "id": payment.terms().customer.id.0, "email": "ana@example.com", "phone": null, "name": "Ana",
            },
            "environment": "test", "fee": 0, "net_amount": 100_000, "refunded_amount": 0, "received_amount": null,
            "late": false, "description": null, "note": null, "external_id": null, "status_version": 1,
            "failure": null, "traffic_type": null, "webhook_url": "https://a.example/h",
            "expires_at": "2025-11-22T00:00:00.000Z", "completed_at": null, "updated_at": "2025-11-21T00:00:00.000Z",
            "return_urls": { "success_url": null, "cancel_url": null },
        })
    );
}

#[test]
fn a_withdrawals_record_has_its_payout_and_what_the_recipient_gets() {
    let world = World::new();
    let mut dear = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    dear.fee_fixed = minor(25);
    world.store.set_routes(vec![dear]);
    world.fund(Currency::MXN, 1_000_000);
    let payment = world.created(&with(withdrawal(), &json!({"type": "withdrawal_pp", "payout": null})));
    let record = serde_json::to_value(PaymentRecord::of(&payment)).expect("JSON");
    assert_eq!(
        (&record["payout"], &record["fee"], &record["net_amount"]),
        (&json!(null), &json!(25), &json!(50_000))
    );
    assert!(record.as_object().is_some_and(|members| members.contains_key("payout")));
}
