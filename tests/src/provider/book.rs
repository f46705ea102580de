//! What the provider was asked, and how it is to answer.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

/// What a provider is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// `POST /instructions`.
    Instructions,
    /// `POST /payouts`.
    Payouts,
    /// `GET /payments/{rail_reference}`.
    Status,
}

/// How a call is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// As the protocol says.
    Honest,
    /// The order is taken on and never answered.
    TakeAndHang,
    /// Nothing is taken on and nothing answered.
    Hang,
    /// The order is taken on; the answer is not JSON.
    TakeAndTalkNonsense,
    /// The order is taken on; the answer is an error of the provider's own.
    TakeAndFail,
    /// Nothing is taken on; the connection is closed.
    Close,
    /// The order is refused.
    Reject,
    /// The answer never ends.
    Endless,
}

impl Behaviour {
    pub(super) const fn takes_on(self) -> bool {
        matches!(self, Self::Honest | Self::TakeAndHang | Self::TakeAndTalkNonsense | Self::TakeAndFail)
    }
}

/// Something that the provider took on.
#[derive(Debug, Clone)]
pub struct Order {
    /// Deposit or payout.
    pub endpoint: Endpoint,
    /// The gateway's request.
    pub body: Value,
    /// How often it was asked for.
    pub times: usize,
    /// What a status question is answered.
    pub status: String,
}

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) orders: BTreeMap<String, Order>,
    pub(super) calls: Vec<Endpoint>,
    pub(super) unsigned: usize,
    next: BTreeMap<Endpoint, VecDeque<Behaviour>>,
    usual: BTreeMap<Endpoint, Behaviour>,
}

impl Book {
    pub(super) fn expect(&mut self, endpoint: Endpoint, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.next.entry(endpoint).or_default().extend(behaviours);
    }

    pub(super) fn forget(&mut self, endpoint: Endpoint) {
        self.next.remove(&endpoint);
        self.usual.remove(&endpoint);
    }

    pub(super) fn set_usual(&mut self, endpoint: Endpoint, behaviour: Behaviour) {
        self.usual.insert(endpoint, behaviour);
    }

    /// Notes a call and says how it is treated.
    pub(super) fn arrive(&mut self, endpoint: Endpoint) -> Behaviour {
        self.calls.push(endpoint);
        let next = self.next.get_mut(&endpoint).and_then(VecDeque::pop_front);
        next.or_else(|| self.usual.get(&endpoint).copied()).unwrap_or(Behaviour::Honest)
    }

    /// Takes an order on, once per reference.
    pub(super) fn take_on(&mut self, endpoint: Endpoint, body: Value) {
        let reference = body["rail_reference"].as_str().expect("a rail_reference").to_owned();
        let order = self.orders.entry(reference).or_insert_with(|| Order {
            endpoint,
            body,
            times: 0,
            status: "pending".to_owned(),
        });
        order.times += 1;
    }
}
