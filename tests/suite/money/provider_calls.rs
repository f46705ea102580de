//! The rail to external providers on its own, against one that misbehaves.

use std::sync::Arc;

use quipu_kernel::{
    Amount, Currency, CustomerId, Environment, MerchantId, PaymentId, SystemClock, Tenant, Timestamp,
};
use quipu_merchants::{Direction, Method, ReturnUrls};
use quipu_payments::{
    Capacity, Customer, Destination, Instructed, Payment, PaymentType, Payout, Rail, RailStatus, State,
    Submission, Terms, WalletScheme,
};
use quipu_rails::HttpRail;
use quipu_tests::provider::{Behaviour, Endpoint, Provider};

const ID: &str = "pay_1763683200000_abcdefghjkmn";

fn rail(provider: &Provider) -> HttpRail {
    let rail =
        HttpRail::new(provider.name(), provider.url(), provider.secret(), Vec::new(), Arc::new(SystemClock));
    rail.expect("a secret of the right form")
}

fn payment(kind: PaymentType) -> Payment {
    let at = Timestamp::from_millis(1_763_683_200_000);
    let id: PaymentId = ID.parse().expect("a payment identifier");
    let terms = Terms {
        id,
        tenant: Tenant::new(MerchantId(1), Environment::Live),
        kind,
        method: Method::BankTransfer,
        currency: Currency::GEL,
        amount: Amount::new(70_000).expect("in range"),
        merchant_reference: "order-1".to_owned(),
        customer: Customer {
            id: CustomerId(1),
            email: Some("ana@example.com".to_owned()),
            phone: None,
            name: Some("Ana".to_owned()),
        },
        rail: "http:any".to_owned(),
        created_at: at,
        expires_at: None,
        description: None,
        note: None,
        external_id: None,
        traffic_type: None,
        webhook: None,
        return_urls: ReturnUrls::default(),
        redirect_scheme: None,
    };
    let destination = Destination::Wallet { scheme: WalletScheme::Phone, value: "995123456789".to_owned() };
    let payout = Payout { partner_destination: Some(destination), ..Payout::default() };
    Payment::restore(terms, State { payout: Some(payout), ..State::first(kind, at) })
}

#[tokio::test]
async fn an_honest_provider_is_understood_and_hears_the_whole_order() {
    let provider = Provider::start().await;
    let rail = rail(&provider);
    assert!(matches!(rail.instruct(&payment(PaymentType::Deposit)).await, Instructed::Given(_)));
    let withdrawal = payment(PaymentType::Withdrawal);
    let taken = Submission::Accepted { provider_reference: Some("their-own-7".to_owned()) };
    assert_eq!(rail.submit(&withdrawal).await, taken);
    assert_eq!(rail.ask(&withdrawal).await, RailStatus::Pending);
    provider.settle(ID, "completed");
    assert!(matches!(rail.ask(&withdrawal).await, RailStatus::Completed(_)));
    let order = provider.order(ID).expect("taken on").body;
    assert_eq!(order["rail_reference"], ID);
    assert_eq!((&order["amount"], &order["currency"]), (&70_000.into(), &"GEL".into()));
    assert_eq!(order["environment"], "live");
    let mut payout = rail_order(&withdrawal).await;
    assert_eq!(payout["payout"]["partnerDestination"]["kind"].take(), "wallet");
    assert_eq!(provider.unsigned_calls(), 0);
}

/// What a fresh provider hears of a withdrawal.
async fn rail_order(withdrawal: &Payment) -> serde_json::Value {
    let fresh = Provider::start().await;
    rail(&fresh).submit(withdrawal).await;
    fresh.order(ID).expect("taken on").body
}

#[tokio::test]
async fn an_answer_that_cannot_be_understood_is_asked_for_again_under_the_same_reference() {
    let provider = Provider::start().await;
    let withdrawal = payment(PaymentType::Withdrawal);
    provider.next(Endpoint::Payouts, [Behaviour::TakeAndTalkNonsense, Behaviour::TakeAndFail]);
    assert!(matches!(rail(&provider).submit(&withdrawal).await, Submission::Accepted { .. }));
    assert_eq!(provider.orders().len(), 1);
    assert_eq!(provider.order(ID).expect("taken on").times, 3);
}

#[tokio::test]
async fn silence_and_nonsense_are_unknown_and_never_a_failure() {
    for behaviour in
        [Behaviour::TakeAndTalkNonsense, Behaviour::TakeAndFail, Behaviour::Close, Behaviour::Endless]
    {
        let provider = Provider::start().await;
        provider.always(Endpoint::Payouts, behaviour);
        provider.always(Endpoint::Status, behaviour);
        provider.always(Endpoint::Instructions, behaviour);
        let (rail, withdrawal) = (rail(&provider), payment(PaymentType::Withdrawal));
        assert_eq!(rail.submit(&withdrawal).await, Submission::Unknown, "{behaviour:?}");
        assert_eq!(rail.ask(&withdrawal).await, RailStatus::Silent, "{behaviour:?}");
        let deposit = payment(PaymentType::Deposit);
        assert_eq!(rail.instruct(&deposit).await, Instructed::Unknown, "{behaviour:?}");
        assert_eq!(provider.calls(Endpoint::Payouts), 3, "bounded repeats: {behaviour:?}");
    }
}

#[tokio::test]
async fn a_provider_that_hangs_is_given_up_and_later_left_alone() {
    let provider = Provider::start().await;
    provider.always(Endpoint::Payouts, Behaviour::TakeAndHang);
    let (rail, withdrawal) = (rail(&provider), payment(PaymentType::Withdrawal));
    assert!(matches!(rail.reserve(Direction::Deposit).await, Capacity::Reserved(_)));
    let calls = (0..5).map(|_| rail.submit(&withdrawal));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome, Submission::Unknown);
    }
    assert!(matches!(rail.reserve(Direction::Deposit).await, Capacity::CircuitOpen));
    let calls = provider.calls(Endpoint::Payouts);
    assert_eq!(rail.submit(&withdrawal).await, Submission::NotSent);
    assert_eq!(provider.calls(Endpoint::Payouts), calls, "nothing is sent through an open circuit");
}

#[tokio::test]
async fn a_refusal_is_definite() {
    let provider = Provider::start().await;
    provider.always(Endpoint::Payouts, Behaviour::Reject);
    provider.always(Endpoint::Instructions, Behaviour::Reject);
    let rail = rail(&provider);
    let Submission::Rejected(failure) = rail.submit(&payment(PaymentType::Withdrawal)).await else {
        panic!("refused")
    };
    assert_eq!(failure.code, "RAIL_REJECTED");
    assert_eq!(failure.message, "NO_ACCOUNT: no such account");
    let refused = rail.instruct(&payment(PaymentType::Deposit)).await;
    assert!(matches!(refused, Instructed::Rejected(_)));
    assert_eq!((provider.calls(Endpoint::Payouts), provider.orders().len()), (1, 0));
}

#[tokio::test]
async fn a_provider_that_is_gone_is_unknown() {
    let provider = Provider::start().await;
    let rail = rail(&provider);
    drop(provider);
    assert_eq!(rail.submit(&payment(PaymentType::Withdrawal)).await, Submission::Unknown);
    assert_eq!(rail.ask(&payment(PaymentType::Withdrawal)).await, RailStatus::Silent);
}
