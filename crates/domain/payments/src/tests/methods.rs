//! The list of methods, and the question whether one would do.

use quipu_kernel::{Currency, Environment, MAX_MINOR};
use quipu_merchants::{AccountCheck, BeneficiaryKind, Direction, Method, Route};
use serde_json::{Value, json};

use super::world::{TENANT, World, amount, beneficiary, minor, name, ready, route};
use crate::{
    CreateError,
    create::methods::{MethodQuestion, available_methods, judge_method},
};

#[test]
fn each_enabled_route_gives_a_row_for_each_type() {
    let mut spei = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    spei.required_payout_fields = vec!["recipient_name".to_owned(), "bank_account".to_owned()];
    spei.max_amount = Some(amount(500));
    let mut disabled = route(Method::Cash, Currency::MXN, Direction::Deposit, false);
    disabled.enabled = false;
    let mut live = route(Method::Card, Currency::MXN, Direction::Deposit, false);
    live.environment = Environment::Live;
    let routes = [
        route(Method::PayId, Currency::AUD, Direction::Deposit, false),
        spei,
        disabled,
        live,
        route(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true),
    ];
    let rows = serde_json::to_value(available_methods(Environment::Test, &routes)).expect("JSON");
    let row = |method: &str, currency: &str, kind: &str, partner: bool, max: Value, fields: Value| {
        json!({
            "method": method, "currency": currency, "type": kind, "partner": partner, "min_amount": 1,
            "max_amount": max, "required_payout_fields": fields,
        })
    };
    let spei_fields = json!(["bank_account", "recipient_name"]);
    let partner_fields = json!(["partnerDestination"]);
    assert_eq!(
        rows,
        json!([
            row("payid", "AUD", "deposit", false, Value::Null, json!([])),
            row("payid", "AUD", "deposit_pp", false, Value::Null, json!([])),
            row("spei", "MXN", "withdrawal", false, json!(500), spei_fields.clone()),
            row("spei", "MXN", "withdrawal_pp", false, json!(500), spei_fields),
            row("bank_transfer", "GEL", "withdrawal", true, Value::Null, partner_fields.clone()),
            row("bank_transfer", "GEL", "withdrawal_pp", true, Value::Null, partner_fields),
        ])
    );
}

fn refusal(question: &Value, world: &World) -> Option<CreateError> {
    let question = MethodQuestion::parse(question.clone()).expect("of the right form");
    ready(judge_method(question, TENANT, &*world.store)).expect("the store answers")
}

/// What is wrong with a question of the right form.
fn problems(question: &Value, world: &World) -> Vec<String> {
    match refusal(question, world) {
        Some(CreateError::Invalid(problems)) => problems.into_messages(),
        other => panic!("{question}: {other:?}"),
    }
}

/// Why it is refused, if it is: the name of the refusal, and the number of problems if it is invalid.
fn reason(question: &Value, world: &World) -> String {
    match refusal(question, world) {
        None => String::new(),
        Some(CreateError::Invalid(problems)) => format!("Invalid {}", problems.messages().len()),
        Some(refusal) => name(&refusal),
    }
}

fn ask(method: &str, currency: &str, kind: &str) -> Value {
    json!({"method": method, "currency": currency, "type": kind})
}

#[test]
fn a_question_is_answered_by_what_speaks_against_it() {
    let world = World::new();
    let mut routes = Route::of_new_merchant();
    routes[0].max_amount = Some(amount(100));
    world.store.set_routes(routes);
    let with = |mut question: Value, name: &str, value: Value| {
        question[name] = value;
        question
    };
    let wallet = json!({"partnerDestination": {"kind": "wallet", "scheme": "phone", "value": "99555123"}});
    for (question, expected) in [
        (ask("spei", "MXN", "deposit"), ""),
        (ask("spei", "MXN", "withdrawal"), ""),
        (with(ask("spei", "MXN", "withdrawal"), "payout", json!({"recipient_name": "A"})), "Invalid 1"),
        (with(ask("spei", "MXN", "deposit"), "payout", json!({"bank_account": "1"})), "Invalid 1"),
        (ask("teleport", "MXN", "deposit"), "Invalid 1"),
        (ask("spei", "pesos", "deposit"), "Invalid 1"),
        (ask("teleport", "pesos", "gift"), "Invalid 3"),
        (ask("spei", "AUD", "deposit"), "Invalid 1"),
        (ask("cash", "MXN", "deposit"), "MethodNotAvailable"),
        (ask("cash", "USD", "deposit"), "CurrencyNotEnabled"),
        (ask("redirectpay", "LKR", "withdrawal"), "Invalid 1"),
        (with(ask("bank_transfer", "ARS", "deposit"), "amount", json!(101)), "AmountOutOfRange"),
        (with(ask("bank_transfer", "ARS", "deposit"), "amount", json!(0)), "Invalid 1"),
        (with(ask("bank_transfer", "ARS", "deposit"), "amount", json!(100)), ""),
        (ask("bank_transfer", "GEL", "withdrawal"), ""),
        (ask("bank_transfer", "GEL", "deposit"), "Invalid 1"),
        (ask("bank_transfer", "USD", "withdrawal"), "PartnerPayoutNotReady"),
        (with(ask("bank_transfer", "GEL", "withdrawal"), "payout", wallet.clone()), ""),
        (with(ask("bank_transfer", "ARS", "withdrawal"), "payout", wallet), "PartnerPayoutNotReady"),
    ] {
        assert_eq!(reason(&question, &world), expected, "{question}");
    }
}

#[test]
fn a_question_without_a_payout_finds_a_route_to_partners_too() {
    let world = World::new();
    world.store.set_routes(vec![route(Method::BankTransfer, Currency::AUD, Direction::Withdrawal, true)]);
    let asked = ask("bank_transfer", "AUD", "withdrawal");
    assert_eq!(reason(&asked, &world), "");
    let mut own = asked;
    own["payout"] = json!({"bank_account": "12345678", "bsb": "062000", "recipient_name": "Ann Lee"});
    assert_eq!(reason(&own, &world), "MethodNotAvailable");
}

#[test]
fn an_amount_that_no_payment_can_have_is_a_finding_however_large_it_is() {
    let world = World::new();
    for amount in [
        "0",
        "-1",
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
    ] {
        let mut question = ask("spei", "MXN", "deposit");
        question["amount"] = serde_json::from_str(amount).expect("a number");
        assert_eq!(problems(&question, &world), ["amount must be from 1 to 2^53 - 1"], "{amount}");
    }
}

#[test]
fn an_amount_must_bear_its_fee_as_in_a_creation() {
    let world = World::new();
    let mut deposits = route(Method::Spei, Currency::MXN, Direction::Deposit, false);
    deposits.fee_fixed = minor(100);
    let withdrawals = Route { direction: Direction::Withdrawal, ..deposits.clone() };
    world.store.set_routes(vec![deposits, withdrawals]);
    for (kind, amount, expected) in [
        ("deposit", 99, "AmountOutOfRange"),
        ("deposit", 100, ""),
        ("withdrawal", 1, ""),
        ("withdrawal", MAX_MINOR - 100, ""),
        ("withdrawal", MAX_MINOR - 99, "AmountOutOfRange"),
    ] {
        let mut question = ask("spei", "MXN", kind);
        question["amount"] = json!(amount);
        assert_eq!(reason(&question, &world), expected, "{question}");
    }
}

#[test]
fn a_saved_beneficiary_must_be_there_as_in_a_creation() {
    let world = World::new();
    let saved = |kind: &str| {
        let mut question = ask("bank_transfer", "GEL", "withdrawal");
        question["payout"] = json!({"partnerDestination": {"kind": kind, "ibanAccountId": "1"}});
        question
    };
    assert_eq!(
        problems(&saved("bank"), &world),
        ["payout.partnerDestination.ibanAccountId names no saved beneficiary"]
    );
    world.store.rows().beneficiaries.push(beneficiary(BeneficiaryKind::Bank, 1));
    assert_eq!(reason(&saved("bank"), &world), "");
    assert_eq!(reason(&saved("sepa"), &world), "Invalid 1");

    let mut strict = route(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true);
    strict.account_check = AccountCheck::Enforce;
    world.store.set_routes(vec![strict]);
    assert_eq!(reason(&saved("bank"), &world), "");
    world.store.rows().beneficiaries[0].details.iban = "DE89370400440532013001".to_owned();
    assert_eq!(reason(&saved("bank"), &world), "Invalid 1");
}

#[test]
fn only_the_form_of_a_question_can_be_wrong() {
    for (question, problems) in [
        (json!(5), &["body must be a JSON object"][..]),
        (json!({}), &["method is required", "currency is required", "type is required"]),
        (
            json!({"method": 1, "currency": "MXN", "type": ""}),
            &["method must be a string", "type must not be empty"],
        ),
        (
            json!({"method": "spei", "currency": "MXN", "type": "deposit", "amount": 1.5, "payout": 1}),
            &["amount must be an integer", "payout must be an object"],
        ),
    ] {
        let messages = MethodQuestion::parse(question.clone()).expect_err("of no form").into_messages();
        assert_eq!(messages, problems, "{question}");
    }
}
