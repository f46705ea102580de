//! Payments for the tests of rails.

use quipu_kernel::{Amount, Currency, CustomerId, Environment, MerchantId, Tenant, Timestamp};
use quipu_merchants::{Method, ReturnUrls, Route, RouteKey};
use quipu_payments::{Customer, Payment, PaymentType, Payout, State, Terms};

/// A payment of 1,000.00 before its rail is called.
pub(crate) struct Sample {
    kind: PaymentType,
    method: Method,
    currency: Currency,
    email: String,
    pub(crate) environment: Environment,
    pub(crate) has_recipient: bool,
}

impl Sample {
    pub(crate) const ID: &str = "pay_1763683200000_abcdefghjkmn";
    /// The creation time in its identifier.
    const CREATED_AT: Timestamp = Timestamp::from_millis(1_763_683_200_000);
    /// The time at which a repeat of the creation makes it, a day later.
    pub(crate) const ISSUED_AT: Timestamp = Timestamp::from_millis(1_763_769_600_000);

    pub(crate) fn new(kind: PaymentType, method: Method, currency: Currency) -> Self {
        Self {
            kind,
            method,
            currency,
            email: "ana@example.com".to_owned(),
            environment: Environment::Test,
            has_recipient: true,
        }
    }

    pub(crate) fn steered(mut self, local: &str) -> Self {
        self.email = format!("{local}@simulator.test");
        self
    }

    pub(crate) fn route(&self, rail: &str) -> Route {
        let key = RouteKey {
            environment: self.environment,
            currency: self.currency,
            method: self.method,
            direction: self.kind.direction(),
            partner: false,
        };
        Route::plain(key, rail)
    }

    pub(crate) fn payment(&self) -> Payment {
        let terms = Terms {
            id: Self::ID.parse().expect("a payment identifier"),
            tenant: Tenant::new(MerchantId(1), self.environment),
            kind: self.kind,
            method: self.method,
            currency: self.currency,
            amount: Amount::new(100_000).expect("in range"),
            merchant_reference: "order-1".to_owned(),
            customer: Customer {
                id: CustomerId(1),
                email: Some(self.email.clone()),
                phone: None,
                name: Some("Ana".to_owned()),
            },
            rail: "any".to_owned(),
            created_at: Self::CREATED_AT,
            expires_at: None,
            description: None,
            note: None,
            external_id: None,
            traffic_type: None,
            webhook: None,
            return_urls: ReturnUrls::default(),
            redirect_scheme: None,
        };
        let state = State {
            payout: self.has_recipient.then(Payout::default),
            ..State::first(self.kind, Self::ISSUED_AT)
        };
        Payment::restore(terms, state)
    }
}
