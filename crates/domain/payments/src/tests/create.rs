//! Creating payments: the choice of the route, the money, the customer, the nonce.

use std::{sync::atomic::Ordering, time::Duration};

use quipu_commit::Nonce;
use quipu_kernel::{Currency, CustomerId, Environment, MAX_MINOR, Tenant};
use quipu_ledger::Balance;
use quipu_merchants::{AccountCheck, BeneficiaryKind, Direction, Method, ReturnUrls, Route};
use serde_json::{Value, json};

use super::world::{
    START, TENANT, World, amount, bank, beneficiary, creation, deposit, minor, name, ready, route, with,
    withdrawal,
};
use crate::{CreateError, Customer, Due, DueAction, IssuedInstructions, Status, Trigger};

fn refused(world: &World, body: &Value) -> CreateError {
    ready(world.create.run(creation(body))).expect_err("refused")
}

fn nonce(value: &str) -> Nonce {
    Nonce { value: value.to_owned(), expires_at: START.plus(Duration::from_mins(10)) }
}

#[test]
fn a_deposit_waits_for_its_money_until_it_expires() {
    let world = World::new();
    let payment = world.created(&deposit());
    let expires_at = START.plus(Duration::from_hours(24));
    assert_eq!((payment.status(), payment.state().version), (Status::Processing, 1));
    assert_eq!(payment.terms().expires_at, Some(expires_at));
    assert_eq!(world.store.due(payment.id()), Some(Due { at: expires_at, action: DueAction::Expire }));
    assert_eq!(world.store.rows().commits.len(), 1);
    assert_eq!(world.store.balance_of(TENANT, Currency::MXN), Balance::zero(Currency::MXN));
}

#[test]
fn a_withdrawal_freezes_amount_and_fee() {
    let world = World::new();
    let mut dear = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    (dear.fee_bps, dear.fee_fixed) = (100, minor(7));
    world.store.set_routes(vec![dear]);
    world.fund(Currency::MXN, 50_507);
    let payment = world.created(&withdrawal());
    assert_eq!(
        (payment.status(), payment.state().fee, payment.terms().expires_at),
        (Status::Pending, minor(507), None)
    );
    let balance = world.store.balance_of(TENANT, Currency::MXN);
    assert_eq!((balance.available.get(), balance.frozen.get()), (0, 50_507));
    let another = with(withdrawal(), &json!({"merchant_reference": "out-2", "amount": 1}));
    assert!(matches!(refused(&world, &another), CreateError::InsufficientBalance));
}

#[test]
fn the_route_decides_what_is_refused() {
    let world = World::new();
    let mut bounded = route(Method::Spei, Currency::MXN, Direction::Deposit, false);
    (bounded.min_amount, bounded.max_amount) = (amount(10), Some(amount(20)));
    let mut disabled = route(Method::Cash, Currency::UYU, Direction::Deposit, false);
    disabled.enabled = false;
    let mut live = route(Method::Cash, Currency::TRY, Direction::Deposit, false);
    live.environment = Environment::Live;
    let mut lost = route(Method::Card, Currency::MXN, Direction::Deposit, false);
    lost.rail = "unheard-of".to_owned();
    let partner = route(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true);
    let plain = route(Method::BankTransfer, Currency::ARS, Direction::Withdrawal, false);
    world.store.set_routes(vec![bounded, disabled, live, lost, partner, plain]);
    let reason = |members: Value| name(&refused(&world, &with(deposit(), &members)));
    assert_eq!(reason(json!({"method": "cash", "currency": "USD"})), "CurrencyNotEnabled");
    assert_eq!(reason(json!({"method": "cash", "currency": "TRY"})), "CurrencyNotEnabled");
    assert_eq!(reason(json!({"method": "cash", "currency": "UYU"})), "MethodNotAvailable");
    assert_eq!(reason(json!({"method": "cash", "currency": "MXN"})), "MethodNotAvailable");
    assert_eq!(
        reason(json!({"method": "card", "currency": "MXN"})),
        "Unavailable",
        "another node may have it"
    );
    assert_eq!(reason(json!({"amount": 9})), "AmountOutOfRange");
    assert_eq!(reason(json!({"amount": 21})), "AmountOutOfRange");
    let wallet = json!({"partnerDestination": {"kind": "wallet", "scheme": "phone", "value": "99555123"}});
    for currency in ["ARS", "USD"] {
        let members = json!({"method": "bank_transfer", "currency": currency, "payout": wallet});
        assert_eq!(name(&refused(&world, &with(withdrawal(), &members))), "PartnerPayoutNotReady");
    }
    assert!(world.store.rows().commits.is_empty());
    for accepted in [10, 20] {
        world.created(&with(
            deposit(),
            &json!({"amount": accepted, "merchant_reference": format!("r{accepted}")}),
        ));
    }
}

#[test]
fn what_the_route_asks_of_a_payout_is_a_matter_of_validation() {
    let world = World::new();
    let mut strict = route(Method::BankTransfer, Currency::ARS, Direction::Withdrawal, false);
    strict.required_payout_fields = vec!["bank_code".to_owned(), "beneficiary_tax_id".to_owned()];
    strict.account_check = AccountCheck::Enforce;
    let mut payid = route(Method::PayId, Currency::AUD, Direction::Withdrawal, false);
    payid.account_check = AccountCheck::Enforce;
    let mut spei = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    spei.account_check = AccountCheck::Enforce;
    let mut partner = route(Method::BankTransfer, Currency::GEL, Direction::Withdrawal, true);
    partner.account_check = AccountCheck::Enforce;
    world.store.set_routes(vec![strict, payid, spei, partner]);
    let messages = |members: Value| match refused(&world, &with(withdrawal(), &members)) {
        CreateError::Invalid(problems) => problems.into_messages(),
        other => panic!("{other}"),
    };
    let payout = json!({"recipient_name": "A", "bank_account": "2850590940090418135202", "bank_code": "7"});
    assert_eq!(
        messages(json!({"method": "bank_transfer", "currency": "ARS", "payout": payout})),
        [
            "payout.beneficiary_tax_id is required",
            "payout.bank_account must be a CBU or CVU with right check digits, or an alias"
        ]
    );
    assert_eq!(
        messages(json!({"method": "bank_transfer", "currency": "ARS", "payout": {}})),
        ["recipient_name", "bank_account", "bank_code", "beneficiary_tax_id"]
            .map(|member| format!("payout.{member} is required"))
    );
    let payout = json!({"payid": "51824753557", "payid_type": "abn"});
    assert_eq!(
        messages(json!({"method": "payid", "currency": "AUD", "payout": payout})),
        ["payout.payid must be an ABN with right check digits"]
    );
    let payout = json!({"bank_account": "032180000118359710"});
    assert_eq!(
        messages(json!({"payout": payout})),
        ["payout.bank_account must be a CLABE with a right check digit"]
    );
    let bank = json!({
        "iban": "GE28NB0000000101904917", "swift": "BAGAGE22", "beneficiaryName": "N", "beneficiaryBank": "B", "address": "T",
    });
    let payout = json!({"partnerDestination": {"kind": "bank", "bank": bank}});
    assert_eq!(
        messages(json!({"method": "bank_transfer", "currency": "GEL", "payout": payout})),
        ["payout.partnerDestination.bank.iban must have right check digits"]
    );
    for (kind, of_kind, iban) in [
        ("bank", BeneficiaryKind::Bank, "GE28NB0000000101904917"),
        ("sepa", BeneficiaryKind::Sepa, "DE89370400440532013001"),
    ] {
        let mut wrong = beneficiary(of_kind, 4);
        iban.clone_into(&mut wrong.details.iban);
        world.store.rows().beneficiaries.push(wrong);
        let payout = json!({"partnerDestination": {"kind": kind, "ibanAccountId": "4"}});
        assert_eq!(
            messages(json!({"method": "bank_transfer", "currency": "GEL", "payout": payout})),
            ["payout.partnerDestination.ibanAccountId names an account whose IBAN has wrong check digits"]
        );
    }
    let saved = json!({"partnerDestination": {"kind": "bank", "ibanAccountId": "3"}});
    assert_eq!(
        messages(json!({"method": "bank_transfer", "currency": "GEL", "payout": saved, "customer_id": 5})),
        [
            "customer_id names no customer",
            "payout.partnerDestination.ibanAccountId names no saved beneficiary"
        ]
    );
    let usd = json!({"method": "bank_transfer", "currency": "USD", "payout": saved});
    assert_eq!(name(&refused(&world, &with(withdrawal(), &usd))), "PartnerPayoutNotReady");
}

#[test]
fn what_the_request_shows_and_what_the_merchant_has_not_are_told_together() {
    let world = World::new();
    let mut spei = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    spei.required_payout_fields = vec!["bank_account".to_owned(), "recipient_name".to_owned()];
    world.store.set_routes(vec![spei]);
    let members = json!({"amount": 0, "customer_id": 5, "customer": {}, "payout": {"bank_code": "7"}});
    let CreateError::Invalid(problems) = refused(&world, &with(withdrawal(), &members)) else {
        panic!("another refusal")
    };
    assert_eq!(
        problems.into_messages(),
        [
            "amount must be at least 1",
            "customer must have a name, an email or a phone",
            "payout.bank_account is required",
            "customer_id names no customer",
            "payout.recipient_name is required",
        ]
    );
}

#[test]
fn each_method_has_its_expiry_and_the_route_another() {
    let world = World::new();
    let deposit_of = |method, currency| route(method, currency, Direction::Deposit, false);
    let mut short = deposit_of(Method::BankTransfer, Currency::UYU);
    short.expires_in = Some(90);
    let mut redirect = deposit_of(Method::RedirectPay, Currency::LKR);
    redirect.expires_in = Some(90);
    let mut routes = vec![short, redirect, route(Method::Spei, Currency::MXN, Direction::Withdrawal, false)];
    for method in [Method::Spei, Method::Cash, Method::CashStore, Method::Card, Method::Crypto] {
        routes.push(deposit_of(method, Currency::MXN));
    }
    world.store.set_routes(routes);
    world.fund(Currency::MXN, 1_000_000);
    let hours = |hours| Some(START.plus(Duration::from_hours(hours)));
    for (members, expected) in [
        (json!({"method": "spei"}), hours(24)),
        (json!({"method": "cash"}), hours(72)),
        (json!({"method": "cashstore"}), hours(72)),
        (json!({"method": "card"}), hours(1)),
        (json!({"method": "crypto"}), hours(1)),
        (json!({"method": "bank_transfer", "currency": "UYU"}), Some(START.plus(Duration::from_secs(90)))),
        (json!({"method": "redirectpay", "currency": "LKR"}), hours(24)),
        (json!({"type": "withdrawal_pp", "payout": null}), hours(72)),
        (json!({"type": "withdrawal_pp", "payout": {"bank_account": "032180000118359719"}}), None),
    ] {
        let body = with(with(deposit(), &members), &json!({"merchant_reference": members.to_string()}));
        assert_eq!(world.created(&body).terms().expires_at, expected, "{members}");
    }
}

#[test]
fn redirectpay_is_given_up_when_its_own_period_says() {
    let mut world = World::new();
    world.create = world.create.with_redirectpay_cancel_after(Duration::from_secs(5));
    let payment = world.created(&with(deposit(), &json!({"method": "redirectpay", "currency": "LKR"})));
    let at = START.plus(Duration::from_secs(5));
    assert_eq!(world.store.due(payment.id()), Some(Due { at, action: DueAction::Expire }));
}

#[test]
fn the_rail_says_what_comes_first() {
    let ask = Due { at: START.plus(Duration::from_secs(2)), action: DueAction::Ask };
    let mut rail = bank();
    rail.expect_issue()
        .returning(move |_, _| IssuedInstructions { due: Some(ask), ..IssuedInstructions::default() });
    let world = World::with_rail(rail);
    world.fund(Currency::MXN, 1_000_000);
    assert_eq!(world.store.due(world.created(&deposit()).id()), Some(ask));
    assert_eq!(world.store.due(world.created(&withdrawal()).id()), Some(ask));
    let unfilled = json!({"type": "withdrawal_pp", "payout": null, "merchant_reference": "out-2"});
    let unfilled = world.created(&with(withdrawal(), &unfilled));
    let due = world.store.due(unfilled.id()).expect("an expiry");
    assert_eq!(due.action, DueAction::Expire, "nothing is submitted without a recipient");
}

#[test]
fn a_named_customer_must_exist_and_completes_the_request() {
    let world = World::new();
    let known = Customer {
        id: CustomerId(5),
        email: Some("old@example.com".to_owned()),
        phone: Some("+52 1".to_owned()),
        name: None,
    };
    world.store.rows().customers.insert(CustomerId(5), known);
    let payment = world.created(&with(deposit(), &json!({"customer_id": 5})));
    let customer = &payment.terms().customer;
    assert_eq!((customer.id, customer.phone.as_deref()), (CustomerId(5), Some("+52 1")));
    assert_eq!(customer.email.as_deref(), Some("ana@example.com"), "the request's own word counts");
    assert_eq!(world.store.rows().commits[0].fresh_customer, None);
    let other = world.created(&with(deposit(), &json!({"merchant_reference": "order-2"})));
    let fresh = world.store.rows().commits[1].fresh_customer;
    assert_eq!(fresh, Some(other.terms().customer.id));
}

#[test]
fn a_reference_is_free_again_after_a_bad_end() {
    let world = World::new();
    world.fund(Currency::MXN, 1_000_000);
    let first = world.created(&withdrawal());
    match refused(&world, &withdrawal()) {
        CreateError::DuplicateReference { holder } => assert_eq!(&holder, first.id()),
        other => panic!("{other}"),
    }
    let how = crate::TransitionContext::new(START, &*world.entropy);
    let cancelled = first.apply(Trigger::Cancel, how).expect("a move");
    ready(quipu_commit::Commit::commit(&*world.store, cancelled.changes)).expect("cancelled");
    world.created(&withdrawal());
}

#[test]
fn no_payment_takes_a_balance_beyond_its_range() {
    let world = World::new();
    world.fund(Currency::MXN, MAX_MINOR);
    for amount in [1, MAX_MINOR] {
        let refusal = refused(&world, &with(deposit(), &json!({"amount": amount})));
        assert_eq!(name(&refusal), "AmountOutOfRange", "{amount}");
    }
    let mut dear = route(Method::Spei, Currency::MXN, Direction::Withdrawal, false);
    dear.fee_fixed = minor(1);
    let mut deposits = route(Method::Spei, Currency::MXN, Direction::Deposit, false);
    deposits.fee_fixed = minor(100);
    world.store.set_routes(vec![dear, deposits]);
    assert_eq!(
        name(&refused(&world, &with(withdrawal(), &json!({"amount": MAX_MINOR})))),
        "AmountOutOfRange"
    );
    assert_eq!(name(&refused(&world, &with(deposit(), &json!({"amount": 99})))), "AmountOutOfRange");
}

#[test]
fn live_webhooks_are_https_and_defaults_fill_return_urls() {
    let world = World::new();
    let mut routes = Route::of_new_merchant();
    for route in &mut routes {
        route.environment = Environment::Live;
    }
    world.store.set_routes(routes);
    let mut creation = creation(&with(
        deposit(),
        &json!({"webhook_url": "http://a.example", "return_urls": {"success_url": "https://own.example"}}),
    ));
    creation.tenant = Tenant::new(TENANT.merchant(), Environment::Live);
    creation.default_return_urls = ReturnUrls {
        success_url: Some("https://default.example/ok".to_owned()),
        cancel_url: Some("https://default.example/no".to_owned()),
    };
    match ready(world.create.run(creation.clone())) {
        Err(CreateError::Invalid(problems)) => {
            assert_eq!(problems.messages(), ["webhook_url must be an https URL in the live environment"]);
        }
        other => panic!("{other:?}"),
    }
    let mut wrong = self::creation(&with(
        deposit(),
        &json!({"webhook_url": "http://a.example", "webhook_events": ["payment.paid"]}),
    ));
    wrong.tenant = creation.tenant;
    let Err(CreateError::Invalid(problems)) = ready(world.create.run(wrong)) else {
        panic!("another refusal")
    };
    assert_eq!(
        problems.messages(),
        [
            "webhook_events must be known event names, such as payment.completed",
            "webhook_url must be an https URL in the live environment"
        ]
    );
    creation.draft.as_mut().expect("a valid request").webhook = None;
    let payment = ready(world.create.run(creation)).expect("created");
    let urls = &payment.terms().return_urls;
    assert_eq!(urls.success_url.as_deref(), Some("https://own.example"));
    assert_eq!(urls.cancel_url.as_deref(), Some("https://default.example/no"));
}

#[test]
fn a_nonce_is_burnt_once_whatever_comes_of_it() {
    let world = World::new();
    let run = |body: &Value, value: &str| {
        let mut creation = creation(body);
        creation.nonce = Some(nonce(value));
        ready(world.create.run(creation))
    };
    run(&deposit(), "first-nonce").expect("created");
    assert_eq!(world.store.rows().commits.len(), 1, "in the payment's own commit");
    let unknown = with(deposit(), &json!({"method": "cash", "currency": "USD"}));
    let refusal = run(&unknown, "second-nonce").expect_err("no route");
    assert_eq!(name(&refusal), "CurrencyNotEnabled");
    assert!(!world.store.rows().commits[1].saves);
    assert_eq!(name(&run(&deposit(), "third-nonce").expect_err("duplicate")), "DuplicateReference");
    for used in ["first-nonce", "second-nonce", "third-nonce"] {
        for body in [deposit(), unknown.clone()] {
            assert_eq!(name(&run(&body, used).expect_err("replayed")), "NonceUsed", "{used}");
        }
    }
    let burn = || ready(world.create.burn(TENANT, nonce("fourth-nonce")));
    burn().expect("fresh");
    assert_eq!(name(&burn().expect_err("used")), "NonceUsed");
}

#[test]
fn a_store_that_fails_is_named_as_such() {
    let world = World::new();
    world.store.fails.store(true, Ordering::Relaxed);
    assert_eq!(name(&refused(&world, &deposit())), "Failed");
}
