//! A small world for use cases: a merchant, a clock that is moved by hand, counted randomness.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use mockall::predicate::eq;
use quipu_commit::Commit as _;
use quipu_kernel::{
    Amount, Clock, Currency, CustomerId, Entropy, Environment, MerchantId, Minor, PaymentId, StoreError,
    Tenant, Timestamp,
};
use quipu_merchants::{
    Beneficiary, BeneficiaryKind, Direction, Method, NewBeneficiary, ReturnUrls, Route, RouteKey,
};
use serde_json::{Value, json};

use super::store::FakeStore;
use crate::{
    Capacity, CreateError, CreationPorts, Customer, Draft, Instructed, IssuedInstructions, Payment,
    PaymentType, Payout, ProcessRailEvent, Rail, RailStatus, Rails, Reservation, State, Status, Submission,
    Terms, TransitionContext, Trigger, create::CreatePayment, request::creation::Creation,
};

pub(super) const TENANT: Tenant = Tenant::new(MerchantId(7), Environment::Test);
pub(super) const START: Timestamp = Timestamp::from_millis(1_763_683_200_000);

/// Runs what never waits.
pub(super) fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// A clock that stands until it is moved.
pub(super) struct HandClock(AtomicI64);

impl HandClock {
    pub(super) fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self(AtomicI64::new(START.millis()))
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Randomness that never repeats because it counts.
#[derive(Default)]
pub(super) struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let count = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *byte = count.to_be_bytes()[0];
        }
    }
}

mockall::mock! {
    pub(super) Bank {}

    #[async_trait::async_trait]
    impl Rail for Bank {
        fn name(&self) -> &str;
        fn issue(&self, payment: &Payment, route: &Route) -> IssuedInstructions;
        async fn reserve(&self, direction: Direction) -> Capacity;
        fn questions(&self) -> &[Duration];
        async fn instruct(&self, payment: &Payment) -> Instructed;
        async fn submit(&self, payment: &Payment) -> Submission;
        async fn ask(&self, payment: &Payment) -> RailStatus;
    }
}

/// A rail that is named as routes name it and issues nothing.
pub(super) fn bank() -> MockBank {
    bank_with(|| Capacity::Reserved(Reservation::Unneeded))
}

/// The same, with this capacity for whoever submits a withdrawal.
pub(super) fn bank_with(capacity: fn() -> Capacity) -> MockBank {
    let mut bank = MockBank::new();
    bank.expect_name().return_const("simulator".to_owned());
    bank.expect_reserve().with(eq(Direction::Withdrawal)).returning(move |_| capacity());
    bank
}

/// The same, asked about an open outcome after these gaps.
pub(super) fn bank_asked_after(gaps: &'static [Duration]) -> MockBank {
    let mut bank = bank();
    bank.expect_questions().return_const(gaps.to_vec());
    bank
}

/// The ports of a use case and the use case of creation.
pub(super) struct World {
    pub(super) store: Arc<FakeStore>,
    pub(super) clock: Arc<HandClock>,
    pub(super) entropy: Arc<Counting>,
    pub(super) rails: Arc<Rails>,
    pub(super) create: CreatePayment,
}

impl World {
    pub(super) fn new() -> Self {
        let mut bank = bank();
        bank.expect_issue().returning(|_, _| IssuedInstructions::default());
        Self::with_rail(bank)
    }

    pub(super) fn with_rail(rail: MockBank) -> Self {
        let store = Arc::new(FakeStore::default());
        store.set_routes(Route::of_new_merchant());
        let clock = Arc::new(HandClock::default());
        let entropy = Arc::new(Counting::default());
        let rails = Arc::new(Rails::new(vec![Arc::new(rail)]));
        let rail_events = ProcessRailEvent::new(store.clone(), store.clone(), clock.clone(), entropy.clone());
        let create = CreatePayment::new(CreationPorts {
            commit: store.clone(),
            reads: store.clone(),
            route_book: store.clone(),
            rails: rails.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
        })
        .with_reports_to(Arc::new(rail_events));
        Self { store, clock, entropy, rails, create }
    }

    /// Moves a payment by its own rules, whoever does it.
    pub(super) fn moved(&self, id: &PaymentId, trigger: Trigger) -> Payment {
        let how = TransitionContext::new(START, &*self.entropy);
        let moved = self.store.payment(id).apply(trigger, how).expect("a move");
        ready(self.store.commit(moved.changes)).expect("a commit");
        self.store.payment(id)
    }

    /// Puts money at the merchant's disposal.
    pub(super) fn fund(&self, currency: Currency, units: i64) {
        self.store.adjust(TENANT, currency, minor(units));
    }

    /// Creates from a request that is known to be valid.
    pub(super) fn created(&self, body: &Value) -> Payment {
        ready(self.create.run(creation(body))).expect("created")
    }
}

/// A saved beneficiary.
pub(super) fn beneficiary(kind: BeneficiaryKind, id: i32) -> Beneficiary {
    let details = NewBeneficiary {
        tenant: TENANT,
        kind,
        iban: "DE89370400440532013000".to_owned(),
        swift: None,
        beneficiary_name: "Nino".to_owned(),
        beneficiary_bank: Some("Saved Bank".to_owned()),
        address: None,
        reference: None,
        created_at: START,
    };
    Beneficiary { id, details }
}

/// A creation in the test environment, without a nonce.
pub(super) fn creation(body: &Value) -> Creation {
    Creation {
        tenant: TENANT,
        draft: Draft::parse(body),
        default_return_urls: ReturnUrls::default(),
        nonce: None,
    }
}

/// The smallest valid deposit.
pub(super) fn deposit() -> Value {
    json!({
        "amount": 100_000, "currency": "MXN", "method": "spei", "type": "deposit", "merchant_reference": "order-1",
        "customer": { "name": "Ana", "email": "ana@example.com" },
    })
}

/// The smallest valid withdrawal.
pub(super) fn withdrawal() -> Value {
    json!({
        "amount": 50_000, "currency": "MXN", "method": "spei", "type": "withdrawal", "merchant_reference": "out-1",
        "customer": { "name": "Ana", "email": "ana@example.com" },
        "payout": { "bank_account": "032180000118359719" },
    })
}

/// A request with members replaced; `null` takes a member out.
pub(super) fn with(mut body: Value, members: &Value) -> Value {
    let replaced = members.as_object().expect("an object");
    body.as_object_mut().expect("an object").extend(replaced.clone());
    body
}

pub(super) fn minor(units: i64) -> Minor {
    Minor::new(units).expect("in range")
}

pub(super) fn amount(units: i64) -> Amount {
    Amount::new(units).expect("in range")
}

pub(super) fn failed<T>() -> Result<T, StoreError> {
    Err(StoreError::Failed("told to fail".to_owned()))
}

/// A payment as it could stand in a store.
pub(super) fn standing(kind: PaymentType, method: Method, status: Status, has_recipient: bool) -> Payment {
    let id = "pay_1763683200000_abcdefghjkmn".parse().expect("a payment identifier");
    let terms = Terms {
        id,
        tenant: TENANT,
        kind,
        method,
        currency: Currency::MXN,
        amount: amount(1_000),
        merchant_reference: "order-1".to_owned(),
        customer: Customer {
            id: CustomerId(9),
            email: Some("ana@example.com".to_owned()),
            phone: None,
            name: Some("Ana".to_owned()),
        },
        rail: "simulator".to_owned(),
        created_at: START,
        expires_at: None,
        description: None,
        note: None,
        external_id: None,
        traffic_type: None,
        webhook: None,
        return_urls: ReturnUrls::default(),
        redirect_scheme: None,
    };
    let payout = Payout { bank_account: Some("032180000118359719".to_owned()), ..Payout::default() };
    let withdrawal = kind.direction() == Direction::Withdrawal;
    let state = State {
        status,
        fee: minor(10),
        payout: (withdrawal && has_recipient).then_some(payout),
        ..State::first(kind, START)
    };
    Payment::restore(terms, state)
}

/// The name of a refusal, without its particulars.
pub(super) fn name(refusal: &CreateError) -> String {
    let shown = format!("{refusal:?}");
    let of_error = shown.strip_prefix("Store(").unwrap_or(&shown);
    of_error.split(['(', ')', ' ']).next().unwrap_or_default().to_owned()
}

/// A route like those of a new merchant.
pub(super) fn route(method: Method, currency: Currency, direction: Direction, partner: bool) -> Route {
    let key = RouteKey { environment: Environment::Test, currency, method, direction, partner };
    Route::plain(key, "simulator")
}
